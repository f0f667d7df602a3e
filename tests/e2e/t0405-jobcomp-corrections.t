#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A correction, under the same key, brings what a record lacked: the energy of a job that stays in COMPLETING for longer
# than FinalEnergyWait, and steps that ended while slurmdbd was down; also if slurmctld is killed in between.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather

restart_slurmctld() {
	"$cluster" kill "$DIR" slurmctld "$1" && "$cluster" start-daemon "$DIR" slurmctld
}
restart_both() {
	restart_slurmctld -TERM && "$cluster" kill "$DIR" recorder -TERM && "$cluster" start-daemon "$DIR" recorder
}
configure() {
	sed -i "/^${1%%=*}=/d" "$CEEMS_CONF"
	echo "$1" >>"$CEEMS_CONF"
}
has_record() {
	record_file "$1" >/dev/null
}
# All records of a job, in the order of the file.
records() {
	[ -e "$RECORD_FILE" ] && jq -c "select(.jobid == $1)" "$RECORD_FILE"
}
field() {
	record_file "$1" | jq -c "$2"
}
is_corrected() {
	[ "$(field "$1" '[.energy.final, (.steps | type)]')" = '[true,"array"]' ]
}
is_final() {
	[ "$(field "$1" .energy.final)" = true ]
}
# The batch script has reached its loop: it ignores TERM (bit 14).
is_deaf() {
	local pid
	for pid in $(inside scontrol listpids "$1" | awk 'NR > 1 { print $1 }'); do
		inside awk '/^SigIgn:/ { exit !($2 ~ /[4-7c-f]...$/) }' \
			"/proc/$pid/status" && return
	done
	return 1
}
# A job that has its energy, and whose batch step outlives scancel: it is COMPLETING until end_late_job.
late_job() {
	local id
	rm -f "$go"
	id=$(submit user1 --wrap "trap '' TERM; until [ -e $go ]; do sleep 1; done")
	wait_for 60 job_is "$id" RUNNING
	# else scancel ends the script before it ignores TERM
	wait_for 120 is_deaf "$id"
	sleep 2
	inside scancel "$id"
	wait_for 60 job_is "$id" COMPLETING
	echo "$id"
}
end_late_job() {
	touch "$go"
}

go=$e2e_work/go
cluster_up --nodes 2 --plugins acct_gather,jobcomp \
	--slurm-conf <(printf '%s\n' KillWait=600 UnkillableStepTimeout=900 \
		AccountingStoreFlags=job_script) \
	--ceems-conf <(printf '%s\n' Sinks=file FinalEnergyWait=2s \
		RecordScript=yes ModelIdleWatts=400 ModelMaxWatts=1000)

# --- the energy comes late, and slurmctld is killed before -----------------------------------------

job=$(late_job)
wait_for 60 has_record "$job"
ok $? "a job that does not end within FinalEnergyWait has a record"
is "$(records "$job" | head -n 1 | jq .energy.final)" false "which says that its energy is not final"
key=$(field "$job" .key)
# If slurmctld is killed before it has saved the cancellation, the job ends a second time. slurmctld saves its state
# after a change only; the held job is one.
touch "$e2e_work/cancelled"
submit user2 -H --wrap true >/dev/null
saved() {
	[ "$DIR/slurmctld/job_state" -nt "$e2e_work/cancelled" ]
}
wait_for 120 saved
passes "slurmctld is killed" restart_slurmctld -KILL
is_late() {
	[ $(($(date +%s) - $(stat -c %Y "$e2e_work/cancelled"))) -ge 20 ]
}
wait_for 60 is_late
is "$(job_state "$job")" COMPLETING "and the job has not ended in slurmctld"
end_late_job
wait_for 240 is_corrected "$job"
ok $? "the correction comes"
is "$(records "$job" | jq -c .key | sort -u)" "$key" "under the same key"
wait_booked "$job"
extern_is_told() {
	[ -n "$(usage "$job" extern In energy)" ]
}
wait_for 60 extern_is_told
total=$(field "$job" .energy.total_j)
is "$total" "$(usage "$job" extern In energy)" "with the energy of the extern step"
# the model gives the job about 100 W; it ran 2 s before scancel, and 20 s or more after
[ "$total" -gt 1000 ]
ok $? "which has the time after the cancellation, too: $total J"
is "$(field "$job" '[.steps[].name] | sort')" '["batch","extern"]' "and all steps"
is "$(field "$job" .state)" '"CANCELLED"' "the rest is as it was"
has "$(field "$job" .script)" "trap '' TERM; until [ -e $go ]" "and there is the script"

# --- slurmdbd is down -------------------------------------------------------------------------------

configure FinalEnergyWait=5s
restart_both
"$cluster" kill "$DIR" slurmdbd -TERM
job=$(submit user2 --wrap 'srun sleep 1')
other=$(submit user3 -J other --wrap true)
wait_for 120 has_record "$job"
ok $? "slurmdbd is down: there is a record after FinalEnergyWait"
wait_for 120 has_record "$other"
is "$(field "$job" '[.energy.final, .steps]')" '[false,null]' "without steps, and so not final"
[ "$(field "$job" .energy.total_j)" -ge 0 ]
ok $? "  with slurmctld's energy"
sleep 40
is "$(records "$job" | wc -l)" 1 "no correction while it is down"
echo CommitDelay=1 >>"$DIR/etc/slurmdbd.conf" # as busy sites have it
"$cluster" start-daemon "$DIR" slurmdbd
wait_for 240 is_corrected "$job"
ok $? "slurmdbd is back: the correction comes"
wait_for 240 is_corrected "$other"
ok $? "and that of the other job"
is "$(field "$job" '[.steps[].name] | sort')" '["batch","extern","sleep"]' "with all steps"
is "$(record_file "$other" | jq -r .script)" "$(printf '#!/bin/sh\n%s' '# This script was created by sbatch --wrap.

true')" "a script to the byte"
is "$(records "$job" | jq -c '[.key, .energy.total_j, .state, .end]' | sort -u | wc -l)" 1 \
	"the rest is as it was"
nothing_waits() {
	[ "$(inside sqlite3 -readonly "$STORE_DIR/store.db" 'select count(*) from record')" = 0 ]
}
wait_for 120 nothing_waits
ok $? "the store has no record that the sink has"

# --- an end that the inbox lost ---------------------------------------------------------------------

# slurmdbd leaves out jobs that never were eligible when asked for a time range, unless a flag asks for them
"$cluster" kill "$DIR" recorder -TERM
job=$(submit user1 --begin=now+1hour --wrap true)
inside scancel "$job"
is_booked() {
	inside sacct -nX -j "$job" -o state | grep -q CANCELLED
}
wait_for 60 is_booked
"$cluster" kill "$DIR" slurmctld -TERM
rm "$DIR"/spool/inbox/inbox-*
"$cluster" start-daemon "$DIR" slurmctld
"$cluster" start-daemon "$DIR" recorder
wait_for 60 has_record "$job"
ok $? "a job that was cancelled before it was eligible has a record though its end got lost"
is "$(field "$job" .state)" '"CANCELLED"' "with its state"

# --- CorrectionWait=0 -------------------------------------------------------------------------------

configure FinalEnergyWait=2s
configure CorrectionWait=0
restart_both
job=$(late_job)
wait_for 60 has_record "$job"
is "$(field "$job" .energy.final)" false "CorrectionWait=0: a record that is not final"
end_late_job
over() {
	[ "$(job_state "$job")" = CANCELLED ]
}
wait_for 120 over
sleep 45
is "$(records "$job" | wc -l)" 1 "and no correction"
is "$(grep -c 'error: ceems' "$LOG_DIR/slurmctld.log")" 0 "nothing went wrong in slurmctld"
is "$(grep -c 'error: ceems' "$LOG_DIR/recorder.out")" \
	"$(grep -c 'error: ceems: slurmdbd does not answer' "$LOG_DIR/recorder.out")" \
	"nor in the recorder, but that slurmdbd did not answer"
done_testing
