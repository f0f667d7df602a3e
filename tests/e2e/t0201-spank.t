#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-perf, --ceems-report and I/O counted by BPF, with real steps.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank

# dd_step COUNT ARG...: runs a step that reads and writes COUNT MiB; its standard error is in $err.
dd_step() {
	local count=$1
	shift
	as user1 srun "$@" dd if=/dev/zero of=/dev/null bs=1M count="$count" status=none 2>&1
}

# dd_job COUNT ARG...: the same; prints the job's id. Every task prints the id with the same number of bytes.
dd_job() {
	local count=$1 id
	shift
	# shellcheck disable=SC2016
	id=$(as user1 srun "$@" sh -c 'printf "%08d\n" "$SLURM_JOB_ID"
		exec dd if=/dev/zero of=/dev/null bs=1M count='"$count"' status=none' | head -n 1)
	echo $((10#$id))
}

cluster_up

# --- options that are refused, and steps without options ------------------------------------------

fails "srun refuses an unknown group" as user1 srun --ceems-perf=flops true
has "$out" "unknown group 'flops'; known are hw (default), sw, io, net, sched, events:NAME,.." \
	"naming those known"
fails "so does sbatch" as user1 sbatch --ceems-perf=flops --wrap=true
has "$out" "unknown group 'flops'" "in the same words"
fails "and salloc" as user1 salloc --ceems-perf=sw,flops true
has "$out" "unknown group 'flops'" "in the same words"
fails "events without a name are refused" as user1 srun --ceems-perf=hw,events: true
fails "and what no event is called" as user1 srun --ceems-perf='events:a/b' true
is "$(as user1 srun true 2>&1)" "" "without an option nothing is printed"
has "$(inside srun --help)" "--ceems-perf" "srun --help knows the options"

# --- the report ----------------------------------------------------------------------------------

out=$(dd_step 10 --ceems-report --ceems-perf)
has "$out" "ceems: step " "--ceems-report prints a screen"
has "$out" "energy " "with energy"
has "$out" "CO2e " "and emissions"
has "$out" "task clock " "and what --ceems-perf counted"
is "$(grep -c 'n/a (needs --ceems-perf)' <<<"$out")" 0 "nothing is left to ask for"
if [ -e /sys/bus/event_source/devices/cpu ]; then
	skip "this machine has a PMU"
else
	has "$out" "n/a (no PMU)" "counters say why they are missing"
fi
out=$(dd_step 10 --ceems-report)
has "$out" "  more       --ceems-perf=" "without --ceems-perf it says how to have more"
[ "$(wc -l <<<"$out")" -le 12 ]
ok $? "and is short"

# --- exact I/O -----------------------------------------------------------------------------------

# A task does some I/O before main(), so only the difference of two jobs is exact.
if bpf_is_loaded; then
	small=$(dd_job 10)
	big=$(dd_job 30)
	two_small=$(dd_job 10 -n 2)
	two=$(dd_job 30 -n 2)
	for job in $small $big $two $two_small; do
		wait_booked "$job" || bail "slurmdbd has job $job"
		wait_for 60 is_used "$job" extern Out fs/ceems
	done
	mib=1048576
	is "$(difference "$small" "$big" 0 In fs/ceems)" $((20 * mib)) "bytes read, exact"
	is "$(difference "$small" "$big" 0 Out fs/ceems)" $((20 * mib)) "bytes written, exact"
	is "$(difference "$small" "$big" 0 In ic/ceems_io_calls)" 20 "read calls, exact"
	is "$(difference "$small" "$big" 0 Out ic/ceems_io_calls)" 20 "write calls, exact"
	is "$(difference "$two_small" "$two" 0 In fs/ceems)" $((40 * mib)) "two tasks, exact"
	is "$(difference "$two_small" "$two" 0 Out fs/ceems)" $((40 * mib)) "both ways"
	is "$(difference "$small" "$big" extern Out fs/ceems)" $((20 * mib)) \
		"the extern step has the job's"
else
	skip "no BPF here"
fi

# --- what a kernel cannot ------------------------------------------------------------------------

out=$(as user1 srun --ceems-report --ceems-perf=hw,io,net,sched,events:no_such_event true 2>&1)
is $? 0 "a step runs with all groups, whatever the node can count"
has "$out" "ceems: step " "and has its report"
is "$(grep -c 'n/a (not measured)' <<<"$out")" 0 "each figure that is missing has its reason"
is "$(grep -c 'needs --ceems-perf' <<<"$out")" 0 "and the reason is not a missing option"

# --- sbatch, arrays, salloc -----------------------------------------------------------------------

job=$(submit user1 --ceems-report --ceems-perf=sw \
	--wrap 'srun dd if=/dev/zero of=/dev/null bs=1M count=5 status=none')
array=$(submit user1 --array=0-1 --ceems-report --ceems-perf --wrap 'srun true')
out=$(as user1 salloc --ceems-report --ceems-perf=sw srun true 2>&1)
has "$out" "ceems: step " "an srun in salloc inherits the options"
has "$out" "task clock" "and what they ask for"
wait_booked "$job" || bail "slurmdbd has job $job"
out=$(cat "$DIR/home/user1/slurm-$job.out")
has "$out" "ceems: step $job.0" "an inner srun inherits the options of sbatch"
has "$out" "ceems: step $job.batch" "and the batch step has them"
ok "$([ -n "$(usage "$job" 0 In ic/ceems_sched)" ]; echo $?)" "sacct has the step's switches"
ok "$([ -n "$(usage "$job" batch In ic/ceems_sched)" ]; echo $?)" "and the batch step's"
for task in 0 1; do
	wait_for 30 grep -q 'ceems: step .*batch' "$DIR/home/user1/slurm-${array}_$task.out"
	ok $? "task $task of an array has a report"
	is "$(grep -c 'ceems: step [0-9]*[.]0 on ' "$DIR/home/user1/slurm-${array}_$task.out")" 1 \
		"and its step, though the option came without a value"
done

# --- nothing stays --------------------------------------------------------------------------------

"$cluster" kill "$DIR" slurmd n1
fails "slurmd takes the programs along when it ends" inside test -e /sys/fs/bpf/ceems
"$cluster" stop "$DIR"

# --- no BPF ----------------------------------------------------------------------------------

cluster_up --no-dbd --nodes 2 --ceems-conf <(printf 'BpfDir=/tmp/ceems\nPerfDefault=sw\n') \
	--slurm-conf <(echo SchedulerParameters=bf_interval=1)
out=$(dd_step 1 --ceems-report)
is $? 0 "without a bpf file system the step runs"
has "$out" "n/a (no BPF)" "and its report says what is missing"
has "$(cat "$LOG_DIR"/slurmd.n1.*)" "is not on a bpf file system" "slurmd's log says why"
has "$out" "task clock" "PerfDefault holds for a user who asked for nothing"
is "$(grep 'task clock' <<<"$out" | grep -c 'n/a')" 0 "and counts"
out=$(dd_step 1 --ceems-report --ceems-perf=io)
is "$(grep 'task clock' <<<"$out" | grep -vc 'n/a')" 0 "but not for one who asked for something else"

# only the backfill scheduler starts het jobs, and it puts no two components on one node
out=$(as user1 timeout 600 salloc -n 1 --ceems-report : -n 1 srun --het-group=0,1 true 2>&1)
is $? 0 "a heterogeneous job runs"
is "$(grep -c 'ceems: step ' <<<"$out")" 2 "and each of its components has a report"
"$cluster" stop "$DIR"

# --- no energy plugin -----------------------------------------------------------------------------

cluster_up --no-dbd --plugins spank
out=$(dd_step 1 --ceems-report --ceems-perf=sw)
is $? 0 "without the energy plugin the step runs"
has "$out" "task clock" "and the report has the counters"
has "$out" "energy     n/a: not measured" "energy is not measured"
out=$(as user1 srun -n 2 --ceems-report --ceems-perf=sw true 2>&1)
is "$(grep -c 'ceems: step ' <<<"$out")" 1 "two tasks have one report"
"$cluster" stop "$DIR"

# --- no jobacct_gather ----------------------------------------------------------------------------

cluster_up --no-dbd --slurm-conf <(echo JobAcctGatherType=jobacct_gather/none)
out=$(dd_step 1 --ceems-report --ceems-perf=sw,io)
is $? 0 "without a jobacct_gather plugin the step runs"
is "$(grep -c 'ceems: step ' <<<"$out")" 1 "the report is that of the energy plugin"
is "$(grep 'task clock' <<<"$out" | grep -vc 'n/a')" 1 "with what the SPANK plugin counted"
done_testing
