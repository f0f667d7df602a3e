#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs are requeued, suspended, killed, drained and more on four nodes. The energy in sacct of all jobs, plus
# unallocated and system energy, must add up to the advance of the nodes' counters.
# shellcheck disable=SC2016
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

nodes='n1 n2 n3 n4'
# --still-cpus: other work on this machine is not the nodes' CPU time. IdleWatts is set to 1 mW, since such nodes
# would learn a wrong idle power. Jobs may not use more memory than they asked for, if this machine can limit memory.
cluster_up --plugins acct_gather --fake-rapl --still-cpus --nodes 4 --cpus 8 --slurm-conf <(echo KillWait=2) \
	--ceems-conf <(echo IdleWatts=0.001)
can_limit=no
[ ! -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || can_limit=yes
[ $can_limit = no ] || echo ConstrainRAMSpace=yes >>"$DIR/etc/cgroup.conf"
for n in $nodes; do
	on "$n" restart_slurmd
done
work_write
busy="exec timeout 900 $e2e_work/work"
jobs=()

# run USER ARG...: submits a job, waits until it runs, and keeps its id in $job and in the list of all jobs.
run() {
	job=$(submit "$@")
	jobs+=("$job")
	wait_for 120 job_is "$job" RUNNING
}

feed_all() {
	local n

	for n in $nodes; do
		on "$n" feed "$@"
	done
}

# uses_node ID: feeds the node once; true when the job has used the node and so has at least 20 J. Call it
# repeatedly: one feed is measured in one tick, in which the job may get no CPU time.
uses_node() {
	feed 30000001
	[ "$(job_energy_uj "$1")" -gt 20000000 ]
}

# job_j ID: prints the energy in sacct of all runs and steps of a job.
job_j() {
	inside sacct -n -P -D -j "$1" -o JobID,ConsumedEnergyRaw |
		awk -F '|' -v id="$1.extern" '$1 == id { sum += $2 } END { print sum + 0 }'
}

# --- a job that is too long, meanwhile all the others ---------------------------------------------

run user1 -w n4 -n1 -t 0:01 -o /dev/null --wrap "$busy"
long=$job

# --- one job over all nodes, seven on one ---------------------------------------------------------

run user1 -N4 -n4 --ntasks-per-node=1 -o /dev/null --wrap "srun timeout 900 $e2e_work/work"
wide=$job
mix=()
for ((i = 0; i < 7; i++)); do
	[ $((i % 2)) = 0 ] && what=$busy || what='exec sleep 900'
	run "user$((i % 3 + 1))" -w n1 -n1 -o /dev/null --wrap "$what"
	mix+=("$job")
done
for n in $nodes; do
	on "$n" wait_for 120 uses_node "$wide"
done
wait_for 120 uses_node "${mix[0]}"
for ((i = 0; i < 3; i++)); do
	feed_all 300000007 50000003
	sleep 0.2
done

# --- requeued -------------------------------------------------------------------------------------

run user1 -w n4 -n1 --requeue -o /dev/null --wrap "$busy"
again=$job
on n4 wait_for 120 uses_node "$again"
inside scontrol requeue "$again" # Slurm lets it wait for two minutes

# --- slurmd of one of its nodes is killed ----------------------------------------------------------

passes "slurmd of n2 is killed" "$cluster" kill "$DIR" slurmd n2 -KILL
on n2 feed 400000013 10000003
passes "and comes back" "$cluster" start-daemon "$DIR" slurmd n2
on n2 feed 7000001 3

# --- a node is drained while a job runs on it -----------------------------------------------------

run user2 -w n3 -n2 -o /dev/null --wrap "srun -n1 --exact sh -c 'i=0; while [ \$i -lt 100000 ]; do i=\$((i+1)); done'
	srun -n2 true; $busy"
drained=$job
on n3 wait_for 120 uses_node "$drained"
inside scontrol update NodeName=n3 State=DRAIN Reason=test
on n3 feed 250000001 1
is "$(inside sinfo -h -n n3 -o %T)" draining "n3 is draining"
inside scancel "$drained"
wait_energy "$drained"
ok $? "a job on a draining node is booked, with its energy"
inside scontrol update NodeName=n3 State=RESUME

# --- suspended ------------------------------------------------------------------------------------

run user3 -w n2 -n1 -o /dev/null --wrap "exec $e2e_work/work $e2e_work/no-pause"
paused=$job
on n2 wait_for 120 uses_node "$paused"
ok $? "a job has energy"
inside scontrol suspend "$paused"
# slurmctld shows SUSPENDED before slurmd has stopped the process: state T by a signal, D in the freezer
is_stopped() {
	! inside ps -o stat= -p "$(inside pgrep -d , -f "$e2e_work/no-pause")" | grep -q '^[^DT]'
}
wait_for 60 is_stopped
# what it used until then is still charged to it
ticks=$(on n2 ledger .ticks)
ticked() {
	[ "$(on n2 ledger .ticks)" -gt $((ticks + 2)) ]
}
wait_for 60 ticked
before=$(on n2 job_energy_uj "$paused")
on n2 feed 600000007
on n2 wait_for 60 ledger_has_all
got=$(($(on n2 job_energy_uj "$paused") - before))
[ $got -lt 100000 ]
ok $? "while it is suspended another job gets the energy: $got of 600000007 uJ are its"
inside scontrol resume "$paused"
wait_for 60 job_is "$paused" RUNNING
gets_more() {
	on n2 feed 1000003
	[ "$(on n2 job_energy_uj "$paused")" -gt "$before" ]
}
wait_for 60 gets_more
ok $? "resumed, it gets its share again"

# --- more memory than it may have -----------------------------------------------------------------

if [ $can_limit = yes ]; then
	run user2 -w n3 -n1 --mem=100M -o /dev/null --wrap \
		"$e2e_work/work $e2e_work/eat; exec python3 -c \"b = b'x' * (400 << 20)\""
	hungry=$job
	on n3 wait_for 120 uses_node "$hungry"
	: >"$e2e_work/eat"
	wait_for 120 job_is "$hungry" OUT_OF_MEMORY
	ok $? "a job that takes too much memory is ended"
	wait_energy "$hungry"
	[ "$(job_acct "$hungry" ConsumedEnergyRaw)" -gt 0 ]
	ok $? "and has its energy: $(job_acct "$hungry" ConsumedEnergyRaw) J"
else
	skip 2 "no memory controller of cgroup v1 here"
fi

# --- salloc ---------------------------------------------------------------------------------------

as user3 salloc -w n4 -n2 sh -c \
	"echo \$SLURM_JOB_ID >$DIR/home/user3/id; srun -n2 $e2e_work/work $e2e_work/leave; srun -n1 true" \
	>/dev/null 2>&1 &
salloc=$!
wait_for 120 test -s "$DIR/home/user3/id"
job=$(cat "$DIR/home/user3/id")
jobs+=("$job")
on n4 wait_for 120 uses_node "$job"
: >"$e2e_work/leave"
wait $salloc
is $? 0 "salloc with two steps"
wait_energy "$job"
[ "$(job_acct "$job" ConsumedEnergyRaw)" -gt 0 ]
ok $? "it has energy: $(job_acct "$job" ConsumedEnergyRaw) J"

# --- the requeued job, again -----------------------------------------------------------------------

runs_again() {
	[ "$(inside scontrol show job "$again" | grep -c 'JobState=RUNNING.*\|Restarts=1')" = 2 ]
}
wait_for 180 runs_again
ok $? "a requeued job runs again"
on n4 wait_for 120 uses_node "$again"
on n4 feed 200000003
inside scancel "$again"
wait_energy "$again"

# --- the end of all -------------------------------------------------------------------------------

too_long() {
	on n4 feed 1000003
	[ "$(job_state "$long")" = TIMEOUT ]
}
wait_for 240 too_long
ok $? "a job ran into its time limit"
wait_energy "$long"
ok $? "it has energy: $(job_acct "$long" ConsumedEnergyRaw) J"
feed_all 90000007 10000003
inside scancel "$wide" "$paused" "${mix[@]}"
for job in "${jobs[@]}"; do
	wait_energy "$job" extern
done
for n in $nodes; do
	on "$n" conserved "$n"
done

# The extern step of each node rounds to joules once: half a joule per job, node and run.
fed=0
nobodys=0
for n in $nodes; do
	fed=$((fed + $(on "$n" fed_uj)))
	nobodys=$((nobodys + $(on "$n" ledger '.unallocated.total_uj + .system.total_uj')))
done
sum=0
for job in "${jobs[@]}"; do
	j=$(job_j "$job")
	sum=$((sum + ${j:-0}))
done
off=$(((fed - nobodys) / 1000000 - sum))
slack=$(((${#jobs[@]} + 4) / 2 + 1))
[ $off -ge -$slack ] && [ $off -le $slack ]
ok $? "all jobs have $sum J in sacct; fed, less unallocated and system: $(((fed - nobodys) / 1000000)) J"
for job in "$wide" "${mix[0]}" "$paused"; do
	is "$(job_acct "$job" ConsumedEnergyRaw)" "$(job_acct "$job" ConsumedEnergyRaw extern)" \
		"job $job: sacct's row is what the extern steps reported"
done
[ "$(job_acct "$paused" Suspended)" != 00:00:00 ]
ok $? "job $paused was suspended for $(job_acct "$paused" Suspended)"
is "$(inside "$ceems" jobs -a -n -P -o jobid,elapsedraw | awk -F '|' -v id="$paused" '$1 == id { print $2 }')" \
	"$(job_acct "$paused" ElapsedRaw)" "  which is not in its run time, as in sacct"
[ "$(job_acct "$wide" ConsumedEnergyRaw)" -gt 100 ]
ok $? "the wide job has energy of four nodes: $(job_acct "$wide" ConsumedEnergyRaw) J"
done_testing
