#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many nodes, many tasks, many steps, many ends at once:
#   CEEMS_SCALE_NODES [4 8]     slurmd on this machine; on each size a job over all nodes
#   CEEMS_SCALE_TASKS [100 400] arrays on the last of these clusters, while one slurmd of eight is killed and started again;
#                               more tasks than CPUs, since slurmctld has more to do for tasks that wait in its queue
#   CEEMS_SCALE_STEPS [20 80]   steps of one job
#   CEEMS_SCALE_ENDS [200 800]  jobs that end at once, without processes, in a cluster with the plugins and in one without
# An empty list leaves its part out; without nodes there are no tasks and steps.
# Each job must have exactly one record, the ledgers of all nodes must have measured what was fed and add up to it, and the
# jobs in sacct have it. Prints time, CPU time and memory of each kind of process, and how they grow.
# shellcheck disable=SC1091,SC2016,SC2034,SC2086,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"
. "$e2e_top/tests/e2e/scale.sh"

read -ra node_sizes <<<"${CEEMS_SCALE_NODES-4 8}"
read -ra task_sizes <<<"${CEEMS_SCALE_TASKS-100 400}"
read -ra step_sizes <<<"${CEEMS_SCALE_STEPS-20 80}"
read -ra end_sizes <<<"${CEEMS_SCALE_ENDS-200 800}"
[ ${#node_sizes[@]} -gt 0 ] || task_sizes=() step_sizes=()
build=${E2E_BUILDDIR:-$(e2e_builddir)}
make -s -C "$build/tests/bench" hold_jobs >/dev/null || skip_all "hold_jobs is not built"

feed_nodes() {
	/usr/bin/python3 "$scale_py" feed "$DIR" 300000001 50000003
}

# over [STATE]: no job is left; feeds the nodes before it looks
over() {
	feed_nodes
	[ -z "$(inside squeue -h -o %A | head -c 1)" ]
}

# Sets fed and nobodys, in uJ.
all_conserved() {
	local nodes

	feed_nodes
	wait_for 120 inside /usr/bin/python3 "$scale_py" ledgers "$DIR" "$ceems"
	ok $? "$1: all nodes measured what was fed, and their accounts add up to it"
	read -r nodes fed nobodys <<<"$out"
	is "$nodes" "$size" "  on $size nodes"
}

records_of() {
	jq -r "select(.$1 == $2 and .energy.final) | .key" "$RECORD_FILE" 2>/dev/null | sort
}

# told FIELD ID N: there are N records of it
told() {
	[ "$(records_of "$1" "$2" | wc -l)" -ge "$3" ]
}

# one_each FIELD ID N WHAT: each of N jobs has exactly one record
one_each() {
	wait_for $((300 + $3 / 4)) told "$1" "$2" "$3"
	is "$(records_of "$1" "$2" | wc -l) $(records_of "$1" "$2" | uniq -d | wc -l)" "$3 0" \
		"$4: each of $3 jobs has one record, no more"
}

# fail_nodes COUNT: kills slurmd of the last COUNT nodes, and starts them again
fail_nodes() {
	local n

	for ((n = size - $1 + 1; n <= size; n++)); do
		"$cluster" kill "$DIR" slurmd "n$n" -KILL || return
	done
	feed_nodes
	for ((n = size - $1 + 1; n <= size; n++)); do
		"$cluster" start-daemon "$DIR" slurmd "n$n" || return
	done
}

# cancel_lost: a job that slurmd had begun to launch when it was killed has no process, and slurmctld does not notice. A task
# does nothing, so one that runs for minutes is such a job. By its job id (%A) scancel does not find a task of a large array.
cancel_lost() {
	local lost

	lost=$(inside squeue -h -r -t running -o '%i %S' | awk -v before="$(date -d '-2 minutes' +%FT%T)" '$2 < before { print $1 }')
	[ -z "$lost" ] || inside scancel $lost
}

# array_over: as over, but asks slurmctld every 10 s only. A lost task takes minutes, and slurmctld's CPU time is compared with
# that of an array that may have lost none.
array_over() {
	sleep 1 # or the nodes are fed more than a counter holds, while a lost task is waited for
	feed_nodes
	[ -z "$(find "$e2e_work/looked" -newermt '-10 seconds')" ] || return 1
	touch "$e2e_work/looked"
	cancel_lost
	over
}

# runs ID: a task whose launch failed runs again in spite of JobRequeue=0
runs() {
	inside sacct -n -P -X -D -j "$1" -o JobIDRaw | wc -l
}

# array_told ID N: slurmdbd has N tasks, and each run of them has a record
array_told() {
	local runs

	runs=$(runs "$1")
	[ "$runs" -ge "$2" ] && told array_job_id "$1" "$runs"
}

# --- nodes -----------------------------------------------------------------------------------------

# task=0: all nodes share one kernel here, and one lock of its cgroup file system. If the steps of 256 nodes read their
# cgroups every 30 s, as on sites, they wait for it all the time.
for size in "${node_sizes[@]}"; do
	[ "$size" = "${node_sizes[0]}" ] || "$cluster" stop "$DIR" >/dev/null
	begun_ms=$(ms)
	cluster_up --nodes "$size" --cpus 8 --fake-rapl --still-cpus --slurm-conf <(printf '%s\n' MaxJobCount=100000 \
		MaxArraySize=100001 MinJobAge=60 MaxStepCount=100000 JobRequeue=0 JobAcctGatherFrequency=task=0,energy=30 \
		SlurmctldDebug=info SlurmdDebug=info) \
		--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=10m)
	figure "start of nodes: time" "$size" $(($(ms) - begun_ms)) ms
	used_begin
	sleep 20
	used_end "20 s without jobs, by nodes" "$size"
	cp "$e2e_work/used" "$e2e_work/idle"

	used_begin
	job=$(submit user1 -N "$size" --ntasks-per-node=1 -o "$DIR/home/user1/wide.out" --wrap "srun true; srun true; srun true")
	wait_for $((120 + 2 * size)) over
	ok $? "a job of three steps over $size nodes"
	one_each jobid "$job" 1 "over all nodes"
	used_end "job over all nodes, by nodes" "$size"
	wait_energy "$job" extern
	is "$(usage "$job" extern In ic/ceems_nodes)" "$size" "all nodes reported its energy"
	is "$(jq -r "select(.jobid == $job) | .energy.total_j" "$RECORD_FILE")" "$(job_acct "$job" ConsumedEnergyRaw)" \
		"its record has the energy of sacct"
	all_conserved "$size nodes"
done

# --- arrays, with node failures --------------------------------------------------------------------

for tasks in "${task_sizes[@]}"; do
	used_begin
	job=$(submit user1 -n1 --array="1-$tasks" -o /dev/null --wrap true)
	sleep 5
	passes "slurmd of $(((size + 7) / 8)) nodes are killed and started again" fail_nodes $(((size + 7) / 8))
	touch "$e2e_work/looked"
	wait_for $((300 + tasks)) array_over
	ok $? "an array of $tasks tasks on $size nodes"
	wait_for $((300 + tasks / 4)) array_told "$job" "$tasks"
	is "$(records_of array_job_id "$job" | wc -l) $(records_of array_job_id "$job" | uniq -d | wc -l)" "$(runs "$job") 0" \
		"array: each run of $tasks tasks has one record, no more"
	is "$(jq "select(.array_job_id == $job) | .array_task_id" "$RECORD_FILE" | sort -u | wc -l)" "$tasks" "  and each task has one"
	used_end "array, by tasks" "$tasks" "$e2e_work/idle"
	diag "lost with slurmd, and cancelled: $(inside sacct -n -X -j "$job" -s CA | wc -l)"
	all_conserved "array of $tasks"
done

# --- steps -----------------------------------------------------------------------------------------

for steps in "${step_sizes[@]}"; do
	used_begin
	job=$(submit user1 -n1 -o "$DIR/home/user1/steps.out" --wrap \
		"for i in \$(seq $steps); do srun -Q true || echo failed; done")
	wait_for $((300 + 5 * steps)) over
	ok $? "a job of $steps steps"
	one_each jobid "$job" 1 "of $steps steps"
	used_end "job of many steps, by steps" "$steps"
	wait_energy "$job" extern
	# a record of many steps comes in parts
	is "$(jq -s -r "map(select(.jobid == $job)) | [.[0].energy.total_j, (map(.steps | length) | add)] | @tsv" "$RECORD_FILE")" \
		"$(job_acct "$job" ConsumedEnergyRaw)	$((steps + 2))" "its record has the energy of sacct, and all steps"
	is "$(cat "$DIR/home/user1/steps.out")" "" "no step failed"
done

# --- all of it -------------------------------------------------------------------------------------

finish_nodes() {
	local sum pairs off

	all_conserved "at the end"
	# 22.05 leaves a cancelled job's row empty; its extern step has the energy of the job
	sum=$(inside sacct -n -P -D -a -o JobIDRaw,ConsumedEnergyRaw | awk -F '|' '
		$1 !~ /\./ { sum += job; job = $2 }
		$1 ~ /\.extern$/ && !(job > 0) { job = $2 }
		END { print sum + job }')
	pairs=$(inside sacct -n -P -X -D -a -o NNodes | awk '{ sum += $1 } END { print sum + 0 }')
	off=$(((fed - nobodys) / 1000000 - sum))
	# every node rounds once for each job on it
	[ $off -ge -$((pairs / 2)) ] && [ $off -le $((pairs / 2 + 1)) ]
	ok $? "all jobs have $sum J in sacct; fed, less unallocated and system: $(((fed - nobodys) / 1000000)) J"
	is "$(jq -r .key "$RECORD_FILE" | sort | uniq -d | wc -l)" 0 "no job has two records"
	passes "slurmctld ends" "$cluster" kill "$DIR" slurmctld -TERM
	diag "$(grep -o 'time in slurmctld: .*' "$LOG_DIR/slurmctld.log" | tail -n 1)"
	"$cluster" stop "$DIR" >/dev/null
}
[ ${#node_sizes[@]} -eq 0 ] || finish_nodes

# --- ends ------------------------------------------------------------------------------------------

none_is_left() {
	[ -z "$(inside squeue -h -o %A | head -c 1)" ]
}

# many_ends PLUGINS WITH: without PrologFlags=Contain a job that has no step has no process
many_ends() {
	local plugins=$1 with=$2 size=4 most=0 ends

	for ends in "${end_sizes[@]}"; do
		[ "$ends" -le "$most" ] || most=$ends
	done
	cluster_up --nodes $size --cpus $((most / size + 1)) --plugins "$plugins" --fake-rapl --slurm-conf <(printf '%s\n' \
		SlurmctldDebug=info SlurmdDebug=info SelectTypeParameters=CR_Core MaxJobCount=100000 'PrologFlags=","') \
		--ceems-conf <(echo Sinks=file)
	for ends in "${end_sizes[@]}"; do
		passes "$ends jobs run $with" as user1 "$build/tests/bench/hold_jobs" "$ends"
		used_begin
		passes "all of them are cancelled" inside scancel -u user1
		wait_for $((300 + ends / 10)) none_is_left
		ok $? "$ends jobs end $with"
		used_end "ends $with" "$ends"
		if [ "$plugins" != none ]; then
			wait_for $((300 + ends / 10)) told user_id 7101 "$ends"
			is "$(records_of user_id 7101 | wc -l) $(records_of user_id 7101 | uniq -d | wc -l)" "$ends 0" \
				"each has one record"
			: >"$RECORD_FILE"
		fi
	done
	passes "slurmctld ends" "$cluster" kill "$DIR" slurmctld -TERM
	diag "$(grep -o 'time in slurmctld: .*' "$LOG_DIR/slurmctld.log" | tail -n 1)"
	"$cluster" stop "$DIR" >/dev/null
}
if [ ${#end_sizes[@]} -gt 0 ]; then
	many_ends none 'without the plugins'
	many_ends jobcomp,spank,acct_gather 'with the plugins'
fi

grown
grows "array, by tasks: CPU, all" 1.3
grows "array, by tasks: CPU, slurmctld" 1.4
grows "array, by tasks: CPU, ceems-recorder" 1.3
grows "job of many steps, by steps: CPU, all" 1.4
grows "job of many steps, by steps: CPU, ceems-recorder" 1.3
grows "20 s without jobs, by nodes: CPU, slurmd" 1.4
done_testing
