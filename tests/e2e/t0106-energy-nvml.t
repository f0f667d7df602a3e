#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real NVIDIA GPU: jobs are charged what the driver's own counter shows, which each job reads when it begins and
# before it ends.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"

[ -e /proc/driver/nvidia/version ] || skip_all "no NVIDIA driver"
# in mJ, from here and until the cluster is there
begin=$("${E2E_BUILDDIR:-$(e2e_builddir)}/tests/gpu/gpuload" 0 2>&1) || skip_all "no NVIDIA GPU can be read: $begin"
cluster_up --gpus --cpus 8
load=/run/ceems-build/tests/gpu/gpuload

look() {
	inside $load 0
}
up=$(look)

# submit_looking USER CMD ARG...: submits a job that reads the counter, runs CMD, reads the counter again, and stays for
# 0.1 s, so that slurmd reads the counter once more. Sets $job when the job has begun.
submit_looking() {
	local user=$1 cmd=$2
	shift 2
	job=$(submit "$user" -n1 -o 'read-%j' "$@" \
		--wrap "readlink /proc/self/fd/* >files; $load 0 && $cmd && $load 0; sleep 0.1")
	wait_for 120 has_step "$job" batch || bail "a job begins: $*"
}

# saw_mj USER ID: prints the mJ between the two readings of a job
saw_mj() {
	awk 'NR == 1 { first = $1 } END { if (NR < 2) exit 1; print $1 - first }' "$DIR/home/$1/read-$2"
}

gpu_uj() {
	ledger "[(.ended[], .steps[]) | select(.job == $1) | .gpu] | add // 0"
}

# charged USER ID FROM WHAT: the job must be charged at least what it read, and not more than the GPU used since FROM
charged() {
	local user=$1 id=$2 from=$3 what=$4 saw uj all j

	wait_energy "$id" batch extern
	all=$(($(look) - from))
	saw=$(saw_mj "$user" "$id") || bail "$what: the job looked twice"
	uj=$(gpu_uj "$id")
	diag "$what: it saw $saw mJ and has $((uj / 1000)) mJ," \
		"$(awk -v saw="$saw" -v uj="$uj" 'BEGIN { printf "%+.2f", (uj / saw / 1000 - 1) * 100 }') %"
	[ $((uj / 1000)) -ge "$saw" ] && [ $((uj / 1000)) -le "$all" ]
	ok $? "$what: it has what it saw, and not more than was used"
	j=$(usage "$id" extern In ic/ceems_gpu_energy)
	is_joules "$j" "$uj" "sacct has it"
	wait_for 60 has_record "$id"
	is "$(record_file "$id" | jq -c '.energy | [.by_domain.gpu_j, .by_source.nvml_j]')" "[$j,$j]" \
		"and the record, as NVML's"
}

# --- what slurmd sees ----------------------------------------------------------------------------

out=$(inside "$ceems" check 2>&1)
has "$out" "ok     nvml " "ceems check reads it"
grep -wE 'rapl|nvml|model|EnergySources' <<<"$out" | diag
prom_has_gpu() {
	grep '^ceems_gpu_info{.*gpuuuid="GPU-' "$TEXTFILE_DIR/n1/ceems.prom"
}
wait_for 60 prom_has_gpu
ok $? "ceems.prom names it"
grep '^ceems_gpu' "$TEXTFILE_DIR/n1/ceems.prom" | diag

# --- who has it ----------------------------------------------------------------------------------

from=$(look)
submit_looking user1 "$load 20" --gres=gpu:1
charged user1 "$job" "$from" "a job that computes"
is "$(grep -c nvidia "$DIR/home/user1/files")" 0 "it got none of slurmd's open files of the driver"

from=$(look)
without=$(submit user2 -n1 -o /dev/null --wrap 'timeout 12 sh -c "while :; do :; done"')
submit_looking user1 'sleep 10' --gres=gpu:1
charged user1 "$job" "$from" "a job that has it and sleeps"
wait_energy "$without" batch extern
is "$(gpu_uj "$without")" 0 "one that computes beside it, without a GPU, has nothing of it"

idle_uj=$(ledger .unallocated.gpu)
from=$(look)
nobody_has_more() {
	[ $(($(ledger .unallocated.gpu) - idle_uj)) -gt 100000000 ]
}
wait_for 120 nobody_has_more
ok $? "idle energy of a GPU that no job holds is unallocated"

# --- shares --------------------------------------------------------------------------------------

submit_looking user1 "$load 15" --gres=shard:1
one=$job
submit_looking user2 'sleep 15' --gres=shard:3
three=$job
shares() {
	ledger "def gpu(id): [.steps[] | select(.job == id) | .gpu] | add; \"\(gpu($one)) \(gpu($three))\""
}
read -r one_uj three_uj <<<"$(shares)"
have_used() {
	read -r now_one now_three <<<"$(shares)"
	[ $((now_one - one_uj)) -gt 200000000 ] && echo "$((now_one - one_uj)) $((now_three - three_uj))"
}
wait_for 120 have_used
read -r one_uj three_uj <<<"$out"
diag "one of four shares has $one_uj uJ, three have $three_uj uJ"
# within a microjoule for each of less than a thousand ticks
[ $((three_uj - 3 * one_uj)) -le 4000 ] && [ $((3 * one_uj - three_uj)) -le 4000 ]
ok $? "of a GPU with four shares, three have three times what one has"
inside scancel "$one" "$three"
wait_energy "$one" batch extern
wait_energy "$three" batch extern

# --- slurmd goes and comes again -------------------------------------------------------------------

from=$(look)
submit_looking user3 "$load 20" --gres=gpu:1
passes "slurmd restarts" restart_slurmd
charged user3 "$job" "$from" "a job in which slurmd was restarted"

# --- all of it -----------------------------------------------------------------------------------

end=$(look)
has_all() {
	[ $(($(ledger .measured.gpu) / 1000)) -ge $((end - up)) ]
}
wait_for 60 has_all
measured=$(ledger .measured.gpu)
[ $((measured / 1000)) -le $(($(look) - begin)) ]
ok $? "the ledger has all that the GPU used, and not more"
is "$(ledger '"\(.difference_uj) \(.conservation_error_uj) \(.rejected)"')" "0 0 0" \
	"jobs, unallocated and system add up to it, and no reading was rejected"
inside "$ceems" ledger -n n1 | diag

# --- its guest in slurmd ---------------------------------------------------------------------------

pid=$(inside cat "$DIR/run/pid/slurmd.n1")
is "$(inside pgrep -P "$pid" -c)" 0 "slurmd has no child of the library's"
# shellcheck disable=SC2016 # expanded inside
inside bash -c '
	grep -E "^(VmRSS|RssAnon|Threads)" "/proc/$1/status"
	echo "files: $(ls "/proc/$1/fd" | wc -l), of the driver:"
	for f in $(find "/proc/$1/fd" -lname "/dev/nvidia*"); do
		echo "$(readlink "$f") $(grep flags "${f/fd/fdinfo}")"
	done
	for t in /proc/"$1"/task/*; do
		echo "$(cat "$t/comm"): $(cat "$t/schedstat") ns of CPU, ns waiting, times"
	done' bash "$pid" | diag

done_testing
