#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users see: sstat while a job runs, sacct when it is over.
# shellcheck disable=SC2016
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather --fake-rapl --cpus 4

# tres ID STEP NAME [in|out]: prints one TRES of a step's total usage; nothing if the step has none.
tres() {
	local side=${4:-in}
	job_acct "$1" "TRESUsage${side^}Tot%500" "$2" | tr ',' '\n' | sed -n "s,^$3=,,p"
}


# --- batch and srun steps ------------------------------------------------------------------------

job=$(submit user1 -n2 -o /dev/null --wrap "srun -n1 --exact sleep 1000 & srun -n1 --exact timeout 600 sh -c 'while :; do :; done' & wait")
# both sruns start at once, and either may be step 0
running_steps() {
	[ "$(inside squeue -h -s -j "$job" -o %i | grep -c "^$job\.[01]$")" = 2 ]
}
wait_for 60 running_steps
busy=$(inside squeue -h -s -j "$job" -o '%i %j' | sed -n "s,^$job\.\([01]\) timeout$,\1,p")
isnt "$busy" "" "the busy step is $job.$busy"
# until the busy step has begun to use the node
ledger_has_job() {
	feed 20000000 3000000
	[ "$(job_energy_uj "$job")" -gt 100000000 ]
}
wait_for 60 ledger_has_job
sstat_has_energy() {
	local j
	feed 20000000
	j=$(inside sstat -n -P -a -j "$job.$busy" -o ConsumedEnergyRaw)
	[ "${j:-0}" -gt 0 ]
}
wait_for 60 sstat_has_energy
ok $? "sstat shows the energy of a running step"
# cancel the job, not a step, so that all of its steps are ended
inside scancel "$job"
wait_energy "$job" batch extern 0 1
ok $? "the job is booked, with its energy"

job_j=$(job_acct "$job" ConsumedEnergyRaw)
extern_j=$(job_acct "$job" ConsumedEnergyRaw extern)
sum_j=0
for step in batch 0 1; do
	j=$(job_acct "$job" ConsumedEnergyRaw $step)
	sum_j=$((sum_j + ${j:-0}))
done
[ "${job_j:-0}" -gt 0 ]
ok $? "scancel: the job has energy in sacct: ${job_j:-none} J"
is "$job_j" "$extern_j" "the job's is what the extern step reported"
[ $((job_j - sum_j)) -ge -2 ] && [ $((job_j - sum_j)) -le 3 ]
ok $? "the other steps' add up to it: $sum_j of $job_j J"
total_uj=$(job_energy_uj "$job")
is_joules "$job_j" "$total_uj" "and it is what the ledger has"
is "$(tres "$job" extern ic/ceems_cpu_energy out)" "" "no idle power is learned: no static part, not 0"
unknown_j=$(tres "$job" extern ic/ceems_unknown)
[ $((${unknown_j:-0} - job_j)) -ge -1 ] && [ $((${unknown_j:-0} - job_j)) -le 1 ]
ok $? "and it is said of all energy: ${unknown_j:-none} of $job_j J"
is "$(tres "$job" extern ic/ceems_unknown out)" 0 "its last tick came in time"
for step in batch extern 0 1; do
	is "$(tres "$job" $step energy)" "$(job_acct "$job" ConsumedEnergyRaw $step)" \
		"$step: the TRES energy is the same number"
	isnt "$(tres "$job" $step ic/ceems_co2e)" "" "$step: emissions"
	isnt "$(tres "$job" $step ic/ceems_cpu_energy)" "" "$step: CPU energy"
	isnt "$(tres "$job" $step ic/ceems_dram_energy)" "" "$step: DRAM energy"
	is "$(tres "$job" $step ic/ceems_gpu_energy)" "" "$step: no GPU energy, not 0"
	is "$(tres "$job" $step ic/ceems_source_rapl)" "$(tres "$job" $step energy)" \
		"$step: all of it from RAPL"
done
co2e_ug=$(tres "$job" extern ic/ceems_co2e)
want_ug=$(((total_uj * 475 + 1800000) / 3600000))
[ $((co2e_ug - want_ug)) -ge -1 ] && [ $((co2e_ug - want_ug)) -le 1 ]
ok $? "emissions are energy times the factor: $co2e_ug ug, want $want_ug"
[ "$(job_acct "$job" ConsumedEnergyRaw $busy)" -gt $((2 * $(job_acct "$job" ConsumedEnergyRaw $((1 - busy))))) ]
ok $? "the busy step has more than twice what the sleeping one has"

# --- a normal end --------------------------------------------------------------------------------

job=$(submit user2 -n1 -o /dev/null --wrap 'exec timeout 3 sh -c "while :; do :; done"')
while ! job_ran "$job"; do
	feed 7000000
	sleep 0.2
done
wait_energy "$job" extern
[ "$(job_acct "$job" ConsumedEnergyRaw)" -gt 0 ]
ok $? "a job that ends by itself has energy"
is "$(job_acct "$job" ConsumedEnergyRaw)" "$(job_acct "$job" ConsumedEnergyRaw extern)" \
	"as the extern step says"
has "$(job_acct "$job" AllocTRES%200)" "energy=" "it is in the job's AllocTRES"

job=$(submit user2 -n1 -t 0:01 -o /dev/null --wrap 'srun false; srun sleep 0.05')
wait_energy "$job" 0 1
isnt "$(tres "$job" 0 energy)" "" "a failing step has its energy"
isnt "$(tres "$job" 1 energy)" "" "and one of 50 ms"

# --- salloc's interactive step, many tasks -------------------------------------------------------

passes "a step of 4 tasks" as user3 srun -n4 bash -c 'for i in $(seq 20000); do :; done'
feed 1000000
conserved "after all of that"
has "$(inside scontrol show node n1)" "CurrentWatts=" "the node has watts"
done_testing
