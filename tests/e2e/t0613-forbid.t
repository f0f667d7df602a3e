#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ForbidOptions: an option that a partition or an account may not use has no effect, whatever the user sets in the
# environment.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank

cluster_up --no-dbd --plugins acct_gather,spank \
	--ceems-conf <(echo ForbidOptions=partition:debug:sw+trace,account:guests:all) \
	--slurm-conf <(echo 'PartitionName=free Nodes=ALL State=UP DefMemPerCPU=100')
home=$DIR/home/user1
lies=(SLURM_JOB_PARTITION=free SLURM_JOB_ACCOUNT=project)
export_lies=--export=ALL,SLURM_JOB_PARTITION=free,SLURM_JOB_ACCOUNT=project
refused="ceems: this job's partition or account may not use"
# shellcheck disable=SC2016
told='echo I am in $SLURM_JOB_PARTITION of $SLURM_JOB_ACCOUNT'

# is_counted WHAT: the report in $out has a task clock; is_refused OPTIONS WHAT: it has none, and a message says so.
is_counted() {
	[[ $out == *"task clock"* && $out != *"$refused"* ]] && ! grep 'task clock' <<<"$out" | grep -q 'n/a'
	ok $? "$1" || diag "$out"
}

is_refused() {
	grep -qxF "$refused $1" <<<"$out" && ! grep 'task clock' <<<"$out" | grep -qv 'n/a'
	ok $? "$2" || diag "$out"
}

# believes WHAT: the tasks in $out have the user's false variable. Slurm 25.11 and later overwrite it.
believes() {
	if [[ $out == *" of project"* ]]; then
		ok 0 "$1"
	else
		skip "$1: this srun sets SLURM_JOB_ACCOUNT"
	fi
}

step() {
	as user1 srun --ceems-report --ceems-perf=sw "$@" 2>&1
}

out=$(step -p free -A project true)
is_counted "a partition and an account without a rule"
out=$(step -p debug -A project --ceems-trace true)
is $? 0 "the step runs"
is_refused "--ceems-perf=sw --ceems-trace" "a partition"
out=$(step -p free -A guests --ceems-profile true)
is_refused "--ceems-perf=sw --ceems-profile" "an account"

# --- the user's own variables ----------------------------------------------------------------------

out=$(as user1 env "${lies[@]}" srun -p debug -A guests --ceems-report --ceems-perf=sw true 2>&1)
is_refused "--ceems-perf=sw" "srun with false variables"
out=$(as user1 salloc -p debug -A guests env "${lies[@]}" srun $export_lies --ceems-report --ceems-perf=sw \
	sh -c "$told" 2>&1)
believes "a task of srun in salloc has a false account"
is_refused "--ceems-perf=sw" "  and their step is refused"
job=$(as user1 env "${lies[@]}" sbatch --parsable -p debug -A guests $export_lies --ceems-report --ceems-perf=sw \
	--ceems-trace --wrap "$told; env ${lies[*]} srun sh -c '$told'; env ${lies[*]} srun $export_lies sh -c '$told'")
wait_for 60 job_is "$job" COMPLETED
wait_for 60 grep -q "ceems: step $job.batch" "$home/slurm-$job.out"
out=$(cat "$home/slurm-$job.out")
has "$out" "I am in debug of guests" "Slurm corrects those of the batch step"
believes "those of a step in it stay false"
is "$(grep -cxF "$refused --ceems-perf=sw --ceems-trace" <<<"$out")" 3 "all three are refused, with one line each"
is "$(grep 'task clock' <<<"$out" | grep -vc 'n/a')" 0 "  and not counted"
is "$(find "$home" -name 'ceems-*')" "" "no trace and no profile was written"
is "$(cat "$LOG_DIR"/slurmd.n1.* | grep -c 'may not use --ceems-perf=sw --ceems-trace (ForbidOptions)')" 4 \
	"slurmd's log has it, once per step"

# --- what a task could read itself ------------------------------------------------------------------

out=$(as user1 srun -p free -A project --ceems-perf=hw,sw,io,net,sched sh -c 'ls -l /proc/self/fd; ls /sys/fs/bpf/ceems' 2>&1)
is "$(grep -cE 'perf_event|bpf-(map|prog|link)|ledger' <<<"$out")" 0 "a task inherits no counter, no map and no ledger"
is "$(grep -cE '^(slots|maps|hw_)' <<<"$out")" 0 "  and cannot list the maps"

# --- a mistake --------------------------------------------------------------------------------------

sed -i 's/^ForbidOptions=.*/ForbidOptions=account:guests:bpf/' "$DIR/etc/ceems.conf"
out=$(step -p free -A project true)
is $? 0 "with a mistake in the key, the step runs"
has "$(cat "$LOG_DIR"/slurmd.n1.*)" "ForbidOptions: 'bpf' is not hw, sw" "the log says where it is"
is "$(grep 'task clock' <<<"$out" | grep -vc 'n/a')" 0 "  and no option is in force"
done_testing
