#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Known loads in memory: what sacct, the record and `ceems job` show of them.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp spank
. "$(dirname "$0")/energy.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed (contrib/deps test)"
# on v2, the private cluster's Slurm limits no memory and gathers nothing from cgroups
[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || skip_all "no v1 memory cgroups here"
cluster_up --nodes 2 --cpus 4 --fake-rapl --ceems-conf <(echo Sinks=file)
echo ConstrainRAMSpace=yes >>"$DIR/etc/cgroup.conf"
for node in n1 n2; do
	restart_slurmd
done
node=n1
mkdir -m 1777 "$DIR/home/out"
load=$e2e_top/tests/e2e/memload.py
MIB=1048576

# within WHAT VALUE LEAST MOST: in MiB
within() {
	[ -n "$2" ] && [ "$2" -ge $(($3 * MIB)) ] && [ "$2" -le $(($4 * MIB)) ]
	ok $? "$1: $((${2:-0} / MIB)) MiB, of $3 to $4"
}
# max_of JOB STEP SIDE TRES: the largest of any node
max_of() {
	job_acct "$1" "TRESUsage$3Max%2000" "$2" | tr , '\n' | sed -n "s|^$4=||p"
}
is_told() {
	[ -n "$(max_of "$1" "$2" Out ic/ceems_memory)" ]
}
finished() {
	wait_booked "$1"
	wait_for 60 is_told "$1" "$2" || diag "job $1 step $2 has no memory"
}

# --- shared parts count once -----------------------------------------------------------------------

shared=$(submit user1 -N1 -w n1 --mem=1000 -o /dev/null --wrap "srun --mem=500 $load hold 64 32 4 10; true")
idle=$(submit user2 -N1 -w n1 --mem=300 -o /dev/null --wrap "$load hold 0 80 1 4; sleep 8")
finished "$shared" 0
peak=$(max_of "$shared" 0 In ic/ceems_memory)
within "64 MiB that four share and 32 of each of them" "$peak" 192 250
within "the kernel's peak is more, by what slurmstepd and files take" "$(max_of "$shared" 0 Out ic/ceems_memory)" 192 350
[ "$(max_of "$shared" 0 Out ic/ceems_memory)" -ge "$peak" ]
ok $? "and not less"
is "$(max_of "$shared" 0 In ic/ceems_memory_alloc)" $((500 * MIB)) "allocated to the step"
is "$(max_of "$shared" batch In ic/ceems_memory_alloc)" $((1000 * MIB)) "and to the job"
is "$(max_of "$shared" extern In ic/ceems_memory_alloc)" $((1000 * MIB)) "as the extern step has it"
is "$(max_of "$shared" 0 In ic/ceems_oom)" 0 "no OOM kill: known to be none"
within "the job, as its extern step tells, has its batch script too" "$(max_of "$shared" extern In ic/ceems_memory)" 192 270
[ "$(max_of "$shared" extern In ic/ceems_memory)" -ge "$peak" ]
ok $? "so not less than its step"

# --- the mean -------------------------------------------------------------------------------------

finished "$idle" batch
mean=$(job_acct "$idle" "TRESUsageInTot%2000" batch | tr , '\n' | sed -n 's|^ic/ceems_memory_time=||p')
within "80 MiB for 4 s, by time and to a tick: 320 MiB s" "$((${mean:-0} * 1024))" 240 480

# --- a peak between two samples ------------------------------------------------------------------------

for try in 1 2 3 4 5 6 7 8; do
	burst=$(submit user1 -N1 -w n1 --mem=400 -o "$DIR/home/out/burst.$try" --wrap "$load burst 32")
	finished "$burst" batch
	ms=$(cat "$DIR/home/out/burst.$try" 2>/dev/null)
	[ "$ms" = "too slow" ] || break
done
diag "32 MiB were there for $ms ms"
within "sampled: without the peak" "$(max_of "$burst" batch In ic/ceems_memory)" 1 20
within "the kernel's has it" "$(max_of "$burst" batch Out ic/ceems_memory)" 34 150

# --- page cache is apart ------------------------------------------------------------------------------

# page_cache: of a file of 100 MiB
page_cache() {
	local cached in out

	cached=$(submit user1 -N1 -w n1 --mem=400 -o /dev/null --wrap \
		"$load file 100 $DIR/home/out/file; rm $DIR/home/out/file")
	finished "$cached" batch
	within "a file of 100 MiB is no working set" "$(max_of "$cached" batch In ic/ceems_memory)" 1 60
	in=$(job_acct "$cached" "TRESUsageInTot%2000" batch | tr , '\n' | sed -n 's|^ic/ceems_memory_time=||p')
	out=$(job_acct "$cached" "TRESUsageOutTot%2000" batch | tr , '\n' | sed -n 's|^ic/ceems_memory_time=||p')
	[ "${out:-0}" -gt $((300 * 1024)) ] && [ "$out" -gt $((2 * in)) ]
	ok $? "but page cache: $out KiB s beside $in"
}
if [ "$(stat -f -c %T "$DIR/home/out")" = tmpfs ]; then
	skip "page cache is apart: $DIR is in memory, where files are shared memory"
else
	page_cache
fi

# --- the largest of two nodes -------------------------------------------------------------------------

uneven=$(submit user1 -N2 -n2 --mem=400 -o /dev/null --wrap "srun -n2 -N2 sh -c 'if [ \$SLURM_NODEID = 1 ]; then
	exec $load hold 0 150 1 8; else exec $load hold 0 40 1 8; fi'; true")
finished "$uneven" 0
has_final() {
	[ "$(record_file "$uneven" | jq .energy.final)" = true ]
}
wait_for 180 has_final
field() {
	record_file "$uneven" | jq -r "$1"
}
step0='.steps[] | select(.stepid == 0)'
is "$(field "$step0 | .load_imbalance.memory.max_node")" n2 "the record names the node with the most"
within "its peak" "$(field "$step0 | .load_imbalance.memory.max_bytes")" 150 210
is "$(field "$step0 | .load_imbalance.memory.max_bytes == .usage.memory.peak_bytes")" true "is the step's: no sum"
is "$(field "$step0 | .usage.nodes.memory_nodes")" 2 "memory_nodes: both nodes reported"
is "$(field "$step0 | .usage.memory.allocated_bytes")" $((400 * MIB)) "allocated: of a node"
is "$(field "$step0 | .derived | (.memory_mean_bytes > 0 and .memory_efficiency > 0.3)")" true "mean and efficiency"
is "$(inside "$ceems" job --long "$uneven.0" | grep -cE '^ +memory, largest node +[0-9.]+ MiB on n2$')" 1 "ceems job says so"

# --- out of memory ------------------------------------------------------------------------------------

oom=$(submit user1 -N1 -w n1 --mem=100 -o /dev/null --wrap "$load hold 0 10 1 3; $load hold 0 400 1 5; true")
finished "$oom" batch
kills=$(max_of "$oom" batch In ic/ceems_oom)
[ "${kills:-0}" -ge 1 ]
ok $? "OOM kills: ${kills:-none}"
within "the kernel's peak is the limit" "$(max_of "$oom" batch Out ic/ceems_memory)" 95 100
done_testing
