#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Steps side by side, a slurmstepd and a slurmd that are killed: nobody's bytes are lost or somebody
# else's, and no program stays attached when nobody needs it.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather

cluster_up --plugins acct_gather
status() {
	inside "$BUILD_DIR/bpf/ceems-bpf" status 2>&1
}
# slurmd's sampler has them loaded when it starts
wait_for 60 status >/dev/null || skip_all "no BPF here: $(status | head -n 1)"
traffic=$e2e_top/tests/e2e/traffic.py

# usage JOB STEP SIDE TRES: of sacct's TRESUsageInTot or OutTot; empty if none.
usage() {
	job_acct "$1" "TRESUsage$3Tot" "$2" | tr , '\n' | sed -n "s|^$4=||p"
}

# --- steps side by side ------------------------------------------------------------------------

many=12
# shellcheck disable=SC2016
crowd=$(submit user1 -n1 --overcommit -o /dev/null --wrap '
	for i in $(seq '$many'); do
		srun --overlap -n1 --mem=0 '"$traffic"' $((i * 1000)) & done; wait')
wait_booked "$crowd" || bail "slurmdbd has job $crowd"
wrong=
for ((i = 0; i < many; i++)); do
	bytes=$(usage "$crowd" $i In ic/ceems_net)
	[ -n "$bytes" ] && [ $(((bytes - 4) % 1000)) -eq 0 ] || wrong+=" $i:$bytes"
done
is "$wrong" "" "$many steps at once: each has bytes of its own"
sum=$(for ((i = 0; i < many; i++)); do usage "$crowd" $i In ic/ceems_net; done | awk '{ s += $1 } END { print s }')
is "$sum" $((many * (many + 1) * 500 + 4 * many)) "and together those of all"
is "$(usage "$crowd" extern In ic/ceems_net)" $((sum + $(usage "$crowd" batch In ic/ceems_net))) \
	"which the extern step has, with the batch step's"

# --- whoever is killed -------------------------------------------------------------------------

# A slurmstepd is killed after its step did something: the job does not lack it.
victim=$(submit user1 -n1 -o "$DIR/home/user1/victim" --wrap "
	srun sh -c '$traffic 40000; echo done; sleep 600' & sleep 600")
victim_is_done() {
	grep -q 'done' "$DIR/home/user1/victim"
}
wait_for 120 victim_is_done
ok $? "a step has done its traffic"
stepd=$(inside pgrep -f "slurmstepd: \[$victim.0\]")
inside kill -9 "$stepd"
ledger_lost() {
	inside "$BUILD_DIR/src/cmd/ceems" ledger -n n1 --json |
		jq -e "[.steps[] | select(.job == $victim and .step == \"0\")] | length == 0"
}
wait_for 60 ledger_lost
ok $? "its slurmstepd is killed and the sampler sees it"
inside scancel "$victim"
wait_booked "$victim" || bail "slurmdbd has job $victim"
has_all_of_victim() {
	local job batch

	job=$(usage "$victim" extern In ic/ceems_net)
	batch=$(usage "$victim" batch In ic/ceems_net)
	[ "${job:-0}" -eq $((40004 + ${batch:-0})) ] || { echo "job: '$job', batch step: '$batch'"; return 1; }
}
# a cancelled job's steps may be booked after the job
wait_for 60 has_all_of_victim
ok $? "the job's total has what the dead step did"

# slurmd is killed while a step runs: it goes on counting, and the next slurmd finds everything.
long=$(submit user1 -n1 -o "$DIR/home/user1/long" --wrap "
	srun sh -c '$traffic 10000; echo first; while [ ! -e $DIR/go ]; do sleep 0.1; done; $traffic 20000'")
long_is_half() {
	grep -q first "$DIR/home/user1/long"
}
wait_for 120 long_is_half
"$cluster" kill "$DIR" slurmd n1 -KILL
: >"$DIR/go"
"$cluster" start-daemon "$DIR" slurmd n1
wait_booked "$long" || bail "slurmdbd has job $long"
is "$(usage "$long" 0 In ic/ceems_net)" 30008 "a step outlives slurmd -9 with all its bytes"

# --- nothing stays -----------------------------------------------------------------------------

attached() {
	# shellcheck disable=SC2046
	bpftool -j link show | jq '[.[] | select(.type == "tracing" or .type == "raw_tracepoint")] | length'
}
"$cluster" kill "$DIR" slurmd n1
fails "slurmd takes the object along when it ends" inside test -e /sys/fs/bpf/ceems
before=$(attached)
"$cluster" start-daemon "$DIR" slurmd n1
is_attached() {
	[ "$(attached)" -gt "$before" ]
}
wait_for 60 is_attached
ok $? "with slurmd programs are attached"
"$cluster" kill "$DIR" slurmd n1 -KILL
is_detached() {
	[ "$(attached)" -le "$before" ]
}
wait_for 60 is_detached
ok $? "killed, it leaves none within a minute"
done_testing
