#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sbatch --stepmgr, from Slurm 24.05: the extern step's slurmstepd on the job's first node manages the job's steps instead
# of slurmctld, and sends them to slurmdbd through slurmctld. Energy, reports and records must be as for other jobs.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs_slurm 24.05 "--stepmgr begins with 24.05"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"

nodes='n1 n2'
cluster_up --nodes 2 --cpus 8 --fake-rapl --still-cpus \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=60s)
home=$DIR/home/user1

work_write
run="timeout 600 $e2e_work/work"
job=$(submit user1 --stepmgr -N2 --ntasks-per-node=2 --mem=400 -o "$home/job.out" --wrap "
	srun --ceems-report $run $home/go1 $home/all
	srun -N2 -n2 --mem=100 --exact $run $home/go2 $home/wide &
	srun -N1 -n1 --mem=100 --exact $run $home/go2 $home/one &
	wait
	srun -N1 -n1 sh -c 'exit 3'
	true")
beside=$(submit user1 -N2 --ntasks-per-node=1 --mem=400 -o /dev/null --wrap "
	srun $run $home/go2 $home/beside")
are_there() {
	[ "$(find "$home" -name "$1.*" | wc -l)" -ge "$2" ]
}
all() {
	are_there all 4 && are_there beside 2
}
wait_for 120 all
ok $? "a job with a stepmgr runs on two nodes, and one without beside it"
has "$(inside scontrol show job "$job")" StepMgrEnabled=Yes "slurmctld leaves its steps to it"
feed_all 40000009 10000019
passes "slurmctld ends" "$cluster" kill "$DIR" slurmctld
: >"$home/go1"
next() {
	are_there wide 2 && are_there one 1
}
wait_for 60 next
ok $? "steps end and begin without it"
feed_all 20000003 1000000
passes "slurmctld starts" "$cluster" start-daemon "$DIR" slurmctld
# Messages that are not relayed when the extern step ends are lost: slurmstepd calls acct_storage_g_fini(), which would
# wait for them, only with MEMORY_LEAK_DEBUG.
relayed() {
	[ "$(inside sacct -n -P -j "$job" -o JobID,State | grep -cE '\.(0\|COMPLETED|[12]\|RUNNING)$')" = 3 ]
}
wait_for 60 relayed
ok $? "slurmdbd hears what its steps did meanwhile"
: >"$home/go2"
wait_for 120 job_ran "$job"
agrees "$job" "$job" 2 "with a stepmgr"
agrees "$beside" "$beside" 2 "without one"
is "$(record_file "$job" | jq -r '[.steps[] | "\(.name) \(.state) \(.exit_code)"] | sort | join(", ")')" \
	"batch COMPLETED 0:0, extern COMPLETED 0:0, sh FAILED 3:0, timeout COMPLETED 0:0, timeout COMPLETED 0:0, timeout COMPLETED 0:0" \
	"the record has its six steps with their ends"
is "$(record_file "$job" | jq -r .derived_ec)" "$(job_acct "$job" DerivedExitCode)" \
	"and the exit code that sacct derives from them"
has "$(cat "$home/job.out")" "ceems: step $job.0 on" "step 0 has its report"
for n in $nodes; do
	on "$n" conserved "$n"
done

# --- short ones --------------------------------------------------------------------------------

short=
for _ in 1 2 3 4 5 6 7 8; do
	short+=" $(submit user1 --stepmgr -n1 --mem=100 -o /dev/null --wrap 'srun true; srun true; srun true')"
done
over() {
	[ -z "$(inside squeue -h)" ]
}
wait_for 180 over
ok $? "jobs whose steps end as they begin"
for id in $short; do
	wait_booked "$id"
	wait_for 60 has_record "$id"
	is "$(record_file "$id" | jq -r '.energy.final, (.steps[] | .stepid)' | sort)" \
		"$({ echo true; inside sacct -n -P -j "$id" -o JobID | sed -n "s/^$id\.//p" | sed "$step_ids"; } | sort)" \
		"job $id: one final record, with the steps of sacct"
	is "$(jq -c "select(.jobid == $id)" "$RECORD_FILE" | wc -l)" 1 "written once"
done
done_testing
