#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Steps at the same time, and a slurmstepd and a slurmd that are killed: no bytes are lost or charged to another step, and
# no BPF program stays attached when no step needs it.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather

cluster_up --plugins acct_gather
bpf_is_loaded || skip_all "no BPF here"
traffic=$e2e_top/tests/e2e/traffic.py

# --- steps side by side ------------------------------------------------------------------------

many=12
all=$((many * (many + 1) * 500 + 4 * many))
# crowd: runs a job with $many steps; sets $job, and $sum to the bytes that its steps received
crowd() {
	# shellcheck disable=SC2016
	job=$(submit user1 -n1 --overcommit -o /dev/null --wrap '
		for i in $(seq '$many'); do
			srun --overlap -n1 --mem=0 '"$traffic"' $((i * 1000)) & done; wait')
	wait_booked "$job" || bail "slurmdbd has job $job"
	wait_for 60 is_used "$job" extern In ic/ceems_net
	sum=$(for ((i = 0; i < many; i++)); do usage "$job" $i In ic/ceems_net; done |
		awk '{ s += $1 } END { print s + 0 }')
}
# again N CMD...: runs CMD up to N times, until $sum is not less than $all. Some kernels run no tracing programs in some
# tasks, such as process 1, and a socket that closes in an interrupt there is not counted. Missing bytes are tried again,
# surplus bytes never.
again() {
	local attempt

	for ((attempt = 1; attempt < $1; attempt++)); do
		"${@:2}"
		[ "$sum" -lt "$all" ] || return 0
		diag "attempt $attempt: $sum of $all bytes; the end of a connection was not seen"
	done
	"${@:2}"
}
again 5 crowd
wrong=
for ((i = 0; i < many; i++)); do
	bytes=$(usage "$job" $i In ic/ceems_net)
	[ -n "$bytes" ] && [ $(((bytes - 4) % 1000)) -eq 0 ] || wrong+=" $i:$bytes"
done
is "$wrong" "" "$many steps at once: each has bytes of its own"
is "$sum" $all "and together those of all"
is "$(usage "$job" extern In ic/ceems_net)" $((sum + $(usage "$job" batch In ic/ceems_net))) \
	"which the extern step has, with the batch step's"

# --- whoever is killed -------------------------------------------------------------------------

# A slurmstepd is killed after its step's traffic: the job must have that traffic.
victim_is_done() {
	grep -q 'done' "$DIR/home/user1/victim.$job"
}
ledger_lost() {
	inside "$BUILD_DIR/src/cmd/ceems" ledger -n n1 --json |
		jq -e "[.steps[] | select(.job == $job and .step == \"0\")] | length == 0"
}
# victim: sets $sum to the job's bytes without those of its batch step
victim() {
	job=$(submit user1 -n1 -o "$DIR/home/user1/victim.%j" --wrap "
		srun sh -c '$traffic 40000; echo done; sleep 600' & sleep 600")
	wait_for 120 victim_is_done || bail "a step does its traffic"
	inside kill -9 "$(inside pgrep -f "slurmstepd: \[$job.0\]")"
	wait_for 60 ledger_lost || bail "its slurmstepd is killed and the sampler sees it"
	inside scancel "$job"
	wait_booked "$job" || bail "slurmdbd has job $job"
	wait_for 60 is_used "$job" extern In ic/ceems_net
	batch=$(usage "$job" batch In ic/ceems_net)
	sum=$(($(usage "$job" extern In ic/ceems_net) - ${batch:-0}))
}
all=40004
again 5 victim
is "$sum" $all "a slurmstepd is killed: the job's total has what its step did"

# slurmd is killed while a step runs: the step is still counted, and the next slurmd finds the counts.
long_is_half() {
	grep -q first "$DIR/home/user1/long.$job"
}
long() {
	rm -f "$DIR/go"
	job=$(submit user1 -n1 -o "$DIR/home/user1/long.%j" --wrap "srun sh -c '$traffic 10000; echo first
		while [ ! -e $DIR/go ]; do sleep 0.1; done; $traffic 20000'")
	wait_for 120 long_is_half || bail "a step does its traffic"
	"$cluster" kill "$DIR" slurmd n1 -KILL
	: >"$DIR/go"
	"$cluster" start-daemon "$DIR" slurmd n1
	wait_booked "$job" || bail "slurmdbd has job $job"
	sum=$(usage "$job" 0 In ic/ceems_net)
	sum=${sum:-0}
}
all=30008
again 5 long
is "$sum" $all "a step outlives slurmd -9 with all its bytes"

# A background process that a task leaves runs until the step ends and Slurm kills it.
left=$(submit user1 -n1 -o /dev/null --wrap "
	srun sh -c 'setsid sh -c \"$traffic 5000; touch $DIR/home/user1/left; exec sleep 600\" &
		while [ ! -e $DIR/home/user1/left ]; do sleep 0.1; done'")
wait_booked "$left" || bail "slurmdbd has job $left"
is "$(usage "$left" 0 In ic/ceems_net)" 5004 "what outlives the step's last task is counted"

# --- nothing stays -----------------------------------------------------------------------------

# only of our slurmd: other programs of this machine may come and go
attached() {
	bpftool -j link show | jq --argjson ours "[$ours]" '[.[] | select(.prog_id as $id | $ours | index($id))] | length'
}
programs() {
	# shellcheck disable=SC2016
	inside sh -c 'for pin in /sys/fs/bpf/ceems/v*/prog_*; do bpftool -j prog show pinned "$pin"; done' | jq .id | paste -sd ,
}
"$cluster" kill "$DIR" slurmd n1
fails "slurmd takes the object along when it ends" inside test -e /sys/fs/bpf/ceems
"$cluster" start-daemon "$DIR" slurmd n1
bpf_is_loaded
ours=$(programs)
is_attached() {
	[ "$(attached)" -gt 0 ]
}
wait_for 60 is_attached
ok $? "with slurmd programs are attached"
"$cluster" kill "$DIR" slurmd n1 -KILL
is_detached() {
	[ "$(attached)" = 0 ]
}
wait_for 60 is_detached
ok $? "killed, it leaves none within a minute"
done_testing
