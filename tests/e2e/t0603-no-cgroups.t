#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm without cgroups (proctrack/linuxproc and pgid, task/none, jobacct_gather/linux): steps get a cgroup of ours, and
# all metric values. Without it (StepCgroup=no) a step's CPU time is that of its processes, by which energy is split while
# the step runs; unknown values are n/a with the reason, never 0.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"

cluster_up --cpus 4 --fake-rapl --still-cpus --slurm-conf <(printf '%s\n' ProctrackType=proctrack/linuxproc \
	TaskPlugin=task/none JobAcctGatherType=jobacct_gather/linux) \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=10m)
home=$DIR/home/user1
work_write

# report_row NAME: prints a row of the report in $home/out
report_row() {
	sed -n "s/^ *$1  *//p" "$home/out"
}

# run_job: runs a busy job with a report, and at the same time a job that sleeps, until both have ended
run_job() {
	rm -f "$home"/go*
	job=$(submit user1 -n1 --ceems-report --ceems-perf=sw,io -o "$home/out" --wrap \
		"srun sh -c '$e2e_work/work $home/go; dd if=/dev/zero of=/dev/null bs=64k count=100 status=none'")
	idle=$(submit user2 -n1 -o /dev/null --wrap "srun $e2e_work/work $home/go")
	wait_for 120 has_begun
	ok $? "$1: a job has energy while it runs"
	: >"$home/go"
	wait_energy "$job"
	wait_energy "$idle"
	what=$((($(job_energy_uj "$job") + 500000) / 1000000))
	if [ "$1 $(job_acct "$job" State extern)" != "proctrack/pgid CANCELLED" ]; then
		sum=$(job_acct "$job" ConsumedEnergyRaw)
		is_joules "$sum" "$(job_energy_uj "$job")" "sacct has what the ledger has"
	else
		# Slurm 26.05 cannot signal a step that has no process yet, considers the step gone, and ends it
		skip "$(slurmctld -V) did not wait for the extern step, which reports the job's energy"
		sum=$(($(job_acct "$job" ConsumedEnergyRaw 0) + $(job_acct "$job" ConsumedEnergyRaw batch)))
		[ $((sum - what)) -ge -1 ] && [ $((sum - what)) -le 1 ]
		ok $? "its steps have in sacct what the ledger has: $sum J, $what J"
	fi
	has_record() {
		record_file "$job" >/dev/null
	}
	wait_for 60 has_record
	is "$(record_file "$job" | jq '.energy | [.total_j, .final]' -c)" "[$sum,true]" "and so has the record"
	is "$(inside "$ceems" job --json "$job" | jq .energy.total_j)" "$sum" "and ceems job"
	conserved "$1"
}
has_begun() {
	feed 5000001 1000003
	[ "$(job_energy_uj "$job")" -gt 20000000 ]
}

run_job "proctrack/linuxproc"
has "$(report_row 'CPU')" " s (1 CPU)" "CPU time is known"
has "$(report_row 'read')" " MiB" "and what was read"
isnt "$(usage "$job" 0 In ic/ceems_cpu_time)" "" "in sacct, too"

sed -i 's|^ProctrackType=.*|ProctrackType=proctrack/pgid|' "$SLURM_CONF"
echo StepCgroup=no >>"$CEEMS_CONF"
"$cluster" kill "$DIR" slurmctld
"$cluster" start-daemon "$DIR" slurmctld
on n1 restart_slurmd
run_job proctrack/pgid
isnt "$(usage "$job" 0 In ic/ceems_cpu_time)" "" "CPU time is what wait() says in the end"
has "$(report_row 'I\/O')" "n/a: no v2 cgroup" "no bytes are known"
has "$(report_row 'TCP')" "n/a (no v2 cgroup)" "neither of files nor of TCP"
has "$(report_row 'run-queue wait')" "n/a (no v2 cgroup)" "nor the wait for a CPU"
has "$(report_row 'context switches')" "migrations" "--ceems-perf counts task by task"
is "$(usage "$job" 0 In fs/ceems)" "" "sacct has none, not 0"
is "$(record_file "$job" | jq -c '[.usage.io.read_bytes, (.steps[] | select(.stepid == 0) | .usage.io.read_bytes)]')" \
	"[null,null]" "in the record they are null"
done_testing
