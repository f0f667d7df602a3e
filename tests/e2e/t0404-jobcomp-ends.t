#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way a job can end: every row of slurmdbd must have a record with the same values, and there must be no other
# records.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather

# enough watts for a job of seconds to have joules, whatever machine this is
cluster_up --nodes 4 --plugins acct_gather,jobcomp \
	--ceems-conf <(printf '%s\n' Sinks=file ModelIdleWatts=400 ModelMaxWatts=1000) \
	--slurm-conf <(printf '%s\n' PreemptType=preempt/partition_prio PreemptMode=REQUEUE \
		'PartitionName=low Nodes=n1 PriorityTier=1' \
		'PartitionName=high Nodes=n1 PriorityTier=9')

# restart_slurmctld SIGNAL
restart_slurmctld() {
	"$cluster" kill "$DIR" slurmctld "$1"
	"$cluster" start-daemon "$DIR" slurmctld
}
update() {
	inside scontrol update "$@" >/dev/null
}

# sacct -D's rows, of which slurmctld makes more than one per job: id|submit|...
rows() {
	# by id, since sacct does not show jobs that never were eligible otherwise
	inside env SLURM_TIME_FORMAT=%s sacct -D -a -X -n -P --noconvert -j "$(seq -s , 1 99)" \
		-o JobIDRaw,Submit,End,State,NodeList,ExitCode,ElapsedRaw,Start,ConsumedEnergyRaw
}
all_rows_ended() {
	local open
	open=$(rows | awk -F '|' '$3 == "Unknown" || $4 ~ /^(PENDING|RUNNING)/')
	[ -z "$open" ] || { echo "$open"; return 1; }
}
# runs ID [NODES]: it runs, on so many nodes
runs() {
	[ "$(inside squeue -h -j "$1" -o '%T %D')" = "RUNNING ${2:-1}" ]
}
# slurmdbd has the row of the running part; else slurmctld would add the row only at the end
has_row() {
	rows | grep -q "^$1|.*|RUNNING|"
}
state_is_saved() {
	[ "$DIR/slurmctld/job_state" -nt "$e2e_work/now" ]
}
is_gone() {
	case $(job_state "$1") in
	PENDING | CONFIGURING | RUNNING | COMPLETING) return 1 ;;
	esac
}

# --- what ends by itself -------------------------------------------------------------------------

late=$(submit user1 -t 1 --wrap 'sleep 600')
good=$(submit user1 --wrap 'srun sleep 2')
bad=$(submit user1 --wrap 'exit 3')
killed=$(submit user1 --wrap 'kill -9 $$')
array=$(submit user2 --array=1-3 --wrap true)
het=$(submit user3 -n1 : -n1 --wrap 'srun true')
wait_for 120 is_gone "$het"

# --- what never runs -----------------------------------------------------------------------------

pending=$(submit user2 --begin=now+1hour --wrap true)
held=$(submit user2 --array=1-5,9 --begin=now+1hour --wrap true)
waiting=$(submit user3 -H -n1 : -n1 --wrap true)
passes "pending jobs are cancelled" inside scancel "$pending" "$held" "$waiting"
orphan=$(submit user2 --dependency=afternotok:"$good" --kill-on-invalid-dep=yes --wrap true)
fails "srun -I is rejected when there is no room" as user2 srun -I1 -N4 -n16 -c4 true

# --- jobs ended by users, limits or the kernel ----------------------------------------------------

running=$(submit user1 --wrap 'sleep 600')
again=$(submit user1 --requeue --wrap 'sleep 600')
some=$(submit user2 -w n1 -c2 -p low --array=1-4%1 --wrap 'sleep 600')
salloc=$(as user3 salloc --no-shell -n1 2>&1 | sed -n 's/.*Granted job allocation //p')
wait_for 60 runs "$running"
wait_for 60 runs "$again"
wait_for 300 runs "${some}_1"
passes "a running job is cancelled" inside scancel "$running"
passes "an array of which one task runs" inside scancel "$some"
passes "a job is requeued" inside scontrol requeue "$again"
libslurm=$(find /usr/lib /usr/lib64 -path "*/slurm*/libslurmfull.so" 2>/dev/null | head -n 1)
if [ -x /usr/bin/python3 ] && [ -n "$libslurm" ]; then
	# as srun reports a task that the kernel killed for memory: SIG_OOM
	passes "an allocation ends for memory" inside /usr/bin/python3 -c '
import ctypes, sys
slurm = ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL)
slurm.slurm_init(None)
job = int(sys.argv[1])
if slurm.slurm_api_version() >> 16 >= 44:  # 25.11: slurm_step_id_t, whose first is the SLUID
    U32 = ctypes.c_uint32
    job = (U32 * 6)(0, 0, job, 0xfffffffe, 0xfffffffe, 0)
sys.exit(slurm.slurm_complete_job(job, 253))' "$salloc" "$libslurm"
else
	skip "python3 or libslurmfull is missing: no job ends for memory"
fi
inside scancel "$salloc"

low=$(submit user1 -p low -w n1 -c4 --requeue --wrap 'sleep 600')
wait_for 120 runs "$low"
high=$(submit user1 -p high -w n1 -c4 --wrap 'sleep 1')
wait_for 120 is_gone "$high"
inside scancel "$low"

# --- nodes that fail -----------------------------------------------------------------------------

lost=$(submit user1 -w n4 --no-requeue --wrap 'sleep 600')
moved=$(submit user1 -w n4 --requeue --wrap 'sleep 600')
wait_for 60 runs "$lost"
wait_for 60 runs "$moved"
"$cluster" kill "$DIR" slurmd n4 -KILL
passes "a node fails" update nodename=n4 state=down reason=test
wait_for 60 is_gone "$lost"
"$cluster" start-daemon "$DIR" slurmd n4
update nodename=n4 state=resume 2>/dev/null # unless it is back by itself
wait_for 120 job_is "$moved" PENDING
inside scancel "$moved"

# --- another size --------------------------------------------------------------------------------

shrunk=$(submit user1 -N3 -n3 --no-kill --wrap 'srun -n3 sleep 1; sleep 600')
wait_for 120 runs "$shrunk" 3
wait_for 120 has_row "$shrunk"
# so that no two parts begin in one second, which slurmdbd cannot tell apart
sleep 1.1
passes "a job gives a node back" update jobid="$shrunk" numnodes=2
sleep 1.1
# a slurmctld that is killed could lose the resize, and then never send the end of that row to slurmdbd
restart_slurmctld -TERM
wait_for 120 runs "$shrunk" 2
last_node=$(inside squeue -h -j "$shrunk" -o %N | inside xargs scontrol show hostnames | tail -n 1)
# slurmctld refuses a second resize after a restart
passes "and loses one after a restart" update nodename="$last_node" state=down reason=test
wait_for 60 runs "$shrunk" 1
sleep 1.1
inside scancel "$shrunk"
update nodename="$last_node" state=resume

# --- slurmctld is killed while jobs run and end ----------------------------------------------------

survivor=$(submit user1 --wrap 'sleep 30')
wait_for 60 runs "$survivor"
wait_for 60 has_row "$survivor"
touch "$e2e_work/now"
wait_for 60 state_is_saved
restart_slurmctld -KILL
wait_for 120 is_gone "$survivor"
wait_for 300 job_is "$late" TIMEOUT
# jobs that run again, or wait to run again
wait_for 180 is_requeued "$again"
update jobid="$again" starttime=now
inside scancel "$again" "$moved" "$low"
wait_for 120 is_gone "$again"

# --- the same set, the same values -----------------------------------------------------------------

passes "all is booked" wait_for 300 all_rows_ended
records() {
	jq -r '[.jobid, (."@submit" | fromdateiso8601), (."@end" | fromdateiso8601), .state,
		.nodes // "None assigned", .exit_code,
		if ."@start" then (."@end" | fromdateiso8601) - (."@start" | fromdateiso8601) else 0 end]
		| map(tostring) | join("|")' "$RECORD_FILE"
}
# Start and Elapsed of a part of a resized job: sacct sometimes shows those of the first part
booked() {
	rows | sed 's/CANCELLED by [0-9]*/CANCELLED/' |
		awk -F '|' -v OFS='|' '{ print $1, $2, $3, $4, $5, $6, $7 }' | without_parts
}
without_parts() {
	# slurmctld sends ends once more when it is started again, and then with the signal that it
	# sent itself
	awk -F '|' -v OFS='|' -v job="$shrunk" '
		$1 == job { $7 = "-" }
		$4 ~ /^(CANCELLED|TIMEOUT|PREEMPTED|NODE_FAIL)$/ { $6 = "-" }
		{ print }' | sort
}
all_there() {
	diff <(booked) <(records | without_parts | sort -u)
}
wait_for 300 all_there
ok $? "every row has a record with the same values, and there is no other"
diff <(booked) <(records | without_parts | sort -u) | diag
booked | diag

# a record may come twice, but only to add what was missing
jq -s -r 'group_by(.key) | map(select(length > 1))[] | map([.key, .energy.final, .steps == null]
	| tostring) | join(" ")' "$RECORD_FILE" | grep -v 'false,\|true\]' >"$e2e_work/twice"
is "$(cat "$e2e_work/twice")" "" "none is there twice"
[ ! -s "$e2e_work/twice" ] ||
	jq -s -c 'group_by(.key) | map(select(length > 1))[][]' "$RECORD_FILE" | diag

never_ran() {
	jq -s -c 'group_by(.key) | map(last | select(."@start" == null))' "$RECORD_FILE"
}
is "$(never_ran | jq -c '[.[] | select((.energy.final and .steps == []) | not) | .key]')" "[]" \
	"those of jobs that never ran are final: $(never_ran | jq length)"

# JobIDRaw,Submit -> joules, where sacct has any
energies() {
	rows | awk -F '|' '$9 != "" && $9 > 0 { print $1 "|" $2 "|" $9 }' | sort
}
record_energies() {
	jq -r 'select(.energy.total_j) | [.jobid, (."@submit" | fromdateiso8601), .energy.total_j]
		| map(tostring) | join("|")' "$RECORD_FILE" | sort -u
}
wait_for 60 eval '[ -z "$(comm -23 <(energies) <(record_energies))" ]'
ok $? "every energy that sacct has is the record's"
comm -3 <(energies) <(record_energies) | diag
[ "$(energies | wc -l)" -ge 5 ]
ok $? "it has some: $(energies | tr '\n' ' ')"

# --- some by name ------------------------------------------------------------------------------

states() {
	jq -r "select(.jobid == $1) | .state" "$RECORD_FILE" | sort -u | tr '\n' ' '
}
is "$(states "$late")" "TIMEOUT " "time-out"
is "$(states "$killed")" "FAILED " "a signal"
is "$(states "$bad")" "FAILED " "a bad exit"
is "$(states "$orphan")" "CANCELLED " "a dependency that cannot be met"
[ ! -x /usr/bin/python3 ] || [ -z "$libslurm" ] || is "$(states "$salloc")" "OUT_OF_MEMORY " "memory"
is "$(states "$lost")" "NODE_FAIL " "a node's failure"
is "$(states "$moved")" "CANCELLED NODE_FAIL " "the same and then a cancel"
is "$(states "$again")" "CANCELLED REQUEUED " "a requeue and then a cancel"
is "$(states "$low")" "CANCELLED PREEMPTED " "a preemption and then a cancel"
is "$(states "$shrunk")" "CANCELLED RESIZING " "a job of several sizes"
is "$(jq -r "select(.jobid == $shrunk) | .key" "$RECORD_FILE" | sort -u | wc -l)" 3 \
	"has a record for each"
is "$(jq -s "map(select(.jobid == $shrunk)) | unique_by(.key) | sort_by(.\"@start\") |
	[.[1:][].\"@start\"] == [.[:-1][].\"@end\"]" "$RECORD_FILE")" true \
	"each begins where the one before ends"
is "$(jq -s "map(select(.jobid == $shrunk and .energy.total_j)) | unique_by(.key) | length" "$RECORD_FILE")" 1 \
	"one of them has the energy of all"
is "$(jq -r "select(.jobid == $held) | .array_tasks" "$RECORD_FILE" | sort -u)" 1-5,9 \
	"of an array that was cancelled whole its tasks are known"
is "$(jq -r "select(.jobid == $het or .jobid == $((het + 1))) | .het_job_offset" "$RECORD_FILE" |
	sort -u | tr '\n' ' ')" "0 1 " "components"
is "$(jq -r "select(.array_job_id == $array) | .array_task_id" "$RECORD_FILE" | sort -u |
	tr '\n' ' ')" "1 2 3 " "tasks"
is "$(grep 'error: ceems' "$LOG_DIR/slurmctld.log")" "" "no error of ours"
done_testing
