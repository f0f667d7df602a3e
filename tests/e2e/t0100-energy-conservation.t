#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever jobs do on a node, all of its energy is charged, and charged once.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather --fake-rapl --cpus 8

busy='exec timeout 600 sh -c "while :; do :; done"'

conserved "no job"

# gets_some ID: feeds in portions, until the job has energy: it may get no CPU time in a tick
gets_some() {
	feed 1000003 101
	[ "$(job_energy_uj "$1")" -gt 0 ]
}

for n in 1 2 8; do
	jobs=()
	for ((i = 0; i < n; i++)); do
		[ $((i % 2)) = 0 ] && what=$busy || what='sleep 600'
		jobs+=("$(submit user$((i % 3 + 1)) -n1 -o /dev/null --wrap "$what")")
		feed 123457 1013
	done
	for job in "${jobs[@]}"; do
		wait_for 60 job_is "$job" RUNNING
	done
	for ((i = 0; i < 3; i++)); do
		feed 40000003 7000001
		sleep 0.3
	done
	wait_for 60 gets_some "${jobs[0]}"
	ok $? "the busy job has some of it"
	inside scancel "${jobs[@]}"
	feed 999983 17
	for job in "${jobs[@]}"; do
		wait_for 60 job_ran "$job"
	done
	conserved "$n jobs share a node"
done

# --- steps that are over before the next tick ----------------------------------------------------

job=$(submit user1 -n2 -o /dev/null --wrap 'for i in 1 2 3 4 5 6 7 8; do srun -n1 sleep 0.05; done')
for ((i = 0; i < 12; i++)); do
	feed 1000003 100003
	sleep 0.1
done
wait_for 60 job_ran "$job"
conserved "steps of 50 ms"

# --- slurmd dies in the middle -------------------------------------------------------------------

job=$(submit user1 -n1 -o /dev/null --wrap "$busy")
wait_for 60 has_step "$job" batch
feed 30000001 11
before=$(job_energy_uj "$job")
passes "slurmd is killed" "$cluster" kill "$DIR" slurmd n1 -KILL
feed 50000021 1001
sleep 1
passes "and comes back" "$cluster" start-daemon "$DIR" slurmd n1
conserved "slurmd was away"
[ "$(job_energy_uj "$job")" -gt "$before" ]
ok $? "the job that ran meanwhile has its share"
feed 20000003 3
inside scancel "$job"
wait_for 60 job_ran "$job"
conserved "the job has ended"
no_steps() {
	[ "$(ledger '.steps | length')" = 0 ]
}
wait_for 60 no_steps
ok $? "no step is left in the ledger"
passes "restart in good order" restart_slurmd
feed 5000011 5
conserved "after that"

# --- a step that dies without a word -------------------------------------------------------------

job=$(submit user1 -n1 -o /dev/null --wrap "$busy")
wait_for 60 has_step "$job" batch
feed 10000019 1
inside sh -c "grep -sl -a 'slurmstepd: \\[$job.batch\\]' /proc/[0-9]*/cmdline" | while IFS=/ read -r _ _ pid _; do
	inside kill -KILL "$pid"
done
feed 10000079 1
inside scancel "$job"
wait_for 60 job_ran "$job"
conserved "slurmstepd was killed"
lost_one() {
	grep -q '^ceems_ledger_lost_steps_total{.*} 1$' "$TEXTFILE_DIR/n1/ceems.prom"
}
wait_for 60 lost_one
ok $? "and counted as lost"

# --- idle power goes by allocation ----------------------------------------------------------------

echo IdleWatts=1000000 >>"$CEEMS_CONF"
passes "slurmd with IdleWatts" restart_slurmd
job=$(submit user1 -n2 -o /dev/null --wrap 'sleep 600')
wait_for 60 job_is "$job" RUNNING
two_steps() {
	[ "$(ledger "[.steps[] | select(.job == $job)] | length")" = 2 ]
}
wait_for 60 two_steps
ticks=$(($(ledger .ticks) + 2))
ticked() {
	[ "$(ledger .ticks)" -ge $ticks ]
}
wait_for 60 ticked
job_before=$(job_energy_uj "$job")
rest_before=$(ledger .unallocated.total_uj)
feed 80000000
conserved "idle power"
is $(($(job_energy_uj "$job") - job_before)) 20000000 "2 of 8 CPUs have a quarter of it"
is $(($(ledger .unallocated.total_uj) - rest_before)) 60000000 "the rest is unallocated"
inside scancel "$job"
done_testing
