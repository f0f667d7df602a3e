#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever fails around jobcomp and the recorder, slurmctld runs, jobs run, and no record is lost: a bad ceems.conf, an
# inbox that cannot be written, slurmctld and the recorder killed as jobs end, a recorder that hangs, a full store, and
# slurmdbd and all sinks down at the start.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp

has_record() {
	record_file "$1" >/dev/null
}
our_errors() {
	grep 'error: ceems' "$LOG_DIR/slurmctld.log"
}
restart_slurmctld() {
	"$cluster" kill "$DIR" slurmctld "$1" && "$cluster" start-daemon "$DIR" slurmctld
}
restart_recorder() {
	"$cluster" kill "$DIR" recorder "$1" && "$cluster" start-daemon "$DIR" recorder
}
recorder_errors() {
	grep 'error: ceems' "$LOG_DIR/recorder.out"
}
# With another line in ceems.conf, or without it.
configure() {
	sed -i "/^${1%%=*}=/d" "$CEEMS_CONF"
	echo "$1" >>"$CEEMS_CONF"
}

# Prints the value of a series of ceems_controller.prom, by NAME and its labels without the host's.
prom() {
	awk -v name="$1" '{ sub(/hostname="ceems",?/, "") } $1 == name { print $2 }' \
		"$TEXTFILE_DIR/ceems/ceems_controller.prom"
}
prom_is() {
	[ "$(prom "$1")" = "$2" ]
}

cluster_up --plugins jobcomp --no-dbd --ceems-conf <(printf '%s\n' Sinks=file FinalEnergyWait=20s)

# --- a bad ceems.conf ----------------------------------------------------------------------------

cp "$CEEMS_CONF" "$e2e_work/good.conf"
echo 'NoSuchKey=1' >>"$CEEMS_CONF"
passes "slurmctld starts with a bad ceems.conf" restart_slurmctld -TERM
is "$(our_errors | wc -l)" 1 "one line says so"
has "$(our_errors)" "ceems.conf:" "with the file"
has "$(our_errors)" "NoSuchKey" "and the key"
passes "jobs run" as user1 srun true
cp "$e2e_work/good.conf" "$CEEMS_CONF"

# --- an inbox that cannot be opened --------------------------------------------------------------

mkdir -m 700 "$DIR/closed" # root's, and slurmctld is not root
configure "InboxDir=$DIR/closed/inbox"
passes "slurmctld starts without an inbox" restart_slurmctld -TERM
passes "and so does the recorder" restart_recorder -TERM
as user1 srun -J waiting true
wait_for 60 grep -q 'error: ceems: jobcomp: .*closed' "$LOG_DIR/slurmctld.log"
ok $? "a line says which"
wait_for 60 grep -q 'error: ceems: .*closed' "$LOG_DIR/recorder.out"
ok $? "the recorder says so, too"
fails "there is no record" has_record 2
chown slurm "$DIR/closed"
wait_for 60 has_record 2
ok $? "the record comes when the folder is there"
is "$(our_errors | wc -l)" 2 "the trouble was logged once"
is "$(recorder_errors | wc -l)" 1 "by both"
cp "$e2e_work/good.conf" "$CEEMS_CONF"
passes "slurmctld goes on with the old inbox" restart_slurmctld -TERM
passes "the recorder, too" restart_recorder -TERM

# --- the recorder hangs, is killed, is down ------------------------------------------------------

"$cluster" kill "$DIR" recorder -STOP
hung=$(submit user1 -J hung --wrap true)
wait_for 60 job_is "$hung" COMPLETED
ok $? "jobs end while the recorder hangs"
fails "without a record" has_record "$hung"
"$cluster" kill "$DIR" recorder -CONT
wait_for 60 has_record "$hung"
ok $? "the record comes when it goes on"
"$cluster" kill "$DIR" recorder -KILL
away=$(submit user1 -J away --wrap true)
wait_for 60 job_is "$away" COMPLETED
ok $? "jobs end while it is away"
passes "slurmctld restarts meanwhile" restart_slurmctld -TERM
"$cluster" start-daemon "$DIR" recorder
wait_for 60 has_record "$away"
ok $? "the record comes when it is back"

# --- slurmctld is killed as jobs end -------------------------------------------------------------

last=$(submit user1 --wrap true)
wait_for 60 job_is "$last" COMPLETED
passes "slurmctld is killed right after a job" restart_slurmctld -KILL
wait_for 120 has_record "$last"
ok $? "its record comes after the restart"
ids=
for i in 1 2 3 4 5 6 7 8; do
	ids="$ids $(submit user1 -n1 --wrap "true $i")"
done
known() {
	inside squeue -h -t "$1" -o %A | sort -n
}
some_ended() {
	[ "$(known COMPLETED | wc -l)" -ge 6 ] # of these 8 jobs and earlier ones
}
wait_for 120 some_ended
ended=$(known COMPLETED)
passes "and while jobs end" restart_slurmctld -KILL
# A job that slurmctld had not saved is lost with it, and has a record only if it ended before the kill. A job that the
# saved state has as pending may wait up to ten minutes: the state also has its CPUs as allocated until the node reports
# that nothing runs.
began() {
	inside squeue -h -t all -o '%A %T' | awk '$2 != "PENDING" { print $1 }'
}
missing=
for id in $ended $(began); do
	case " $ids " in
	*" $id "*) wait_for 120 has_record "$id" || missing="$missing $id" ;;
	esac
done
is "$missing" "" "every job that ended before, or is known after and began, has its record"
# slurmctld may report an end twice, since its saved state lacks the first; it may even run a job again that the state
# has as pending, with another end time
is "$(jq -rc '[.key, .state, .exit_code]' "$RECORD_FILE" | sort -u | jq -r '.[0]' | uniq -d)" \
	"" "a repeat says the same"
# jobs that the saved state has as running, and that are over on the node, would hold CPUs for minutes
inside scancel -u user1
nothing_runs() {
	[ -z "$(known RUNNING,COMPLETING,PENDING)" ]
}
wait_for 300 nothing_runs

# --- killed between a job's end and its way to the disk -------------------------------------------

# by name: a slurmctld that was killed may give a job id twice
named() {
	jq -r .job_name "$RECORD_FILE" | grep -qxF "$1"
}
as user1 srun -J before true
wait_for 120 named before
"$cluster" kill "$DIR" recorder -STOP
as user1 srun -J unwritten true
all_over() {
	[ -z "$(known RUNNING,COMPLETING)" ]
}
wait_for 60 all_over
"$cluster" kill "$DIR" slurmctld -TERM # it saves that the job is over
# removes the last job's entries from the inbox, as if they had not been written
unwrite() {
	python3 - "$1" <<'EOT'
import glob, struct, sys
last = sorted(glob.glob(sys.argv[1] + "/inbox-*"))[-1]
data = open(last, "rb").read()
at, frames = 16, []
while at < len(data):
    length, kind = struct.unpack_from("<II", data, at)
    frames.append((at, kind))
    at += 16 + (length + 7) // 8 * 8
assert frames and frames[-1][1] == 2, "the last entry is no job's end"
open(last, "r+b").truncate(frames[-1][0])
EOT
}
passes "a job's end did not get to the disk" unwrite "$INBOX_DIR"
"$cluster" kill "$DIR" recorder -CONT
"$cluster" start-daemon "$DIR" slurmctld
wait_for 120 named unwritten
ok $? "it is found after the start of the next slurmctld"
is "$(jq -r 'select(.job_name == "before" or .job_name == "unwritten") | .key' "$RECORD_FILE" | sort |
	uniq -d)" "" "and no other"

# --- the store is full ----------------------------------------------------------------------------

configure StoreMaxSize=1
restart_recorder -TERM
full=$(submit user1 -J full --wrap true)
wait_for 60 grep -q 'error: ceems: store: .* StoreMaxSize is' "$LOG_DIR/recorder.out"
ok $? "a store with a limit of 0 is logged as full"
wait_for 60 job_is "$full" COMPLETED
ok $? "jobs run nevertheless"
is "$(grep -c 'StoreMaxSize is' "$LOG_DIR/recorder.out")" 1 "one line of the store"
wait_for 60 prom_is 'ceems_recorder_store_full{}' 1
ok $? "ceems_controller.prom shows it"
inbox_waits() {
	[ "$(prom 'ceems_recorder_inbox_waiting_bytes{}')" -gt 0 ]
}
wait_for 60 inbox_waits
ok $? "and that job ends wait in the inbox"
restart_slurmctld -KILL
again=$(submit user1 -J again --wrap true)
wait_for 60 job_is "$again" COMPLETED
fails "there is no record of them" named again
cp "$e2e_work/good.conf" "$CEEMS_CONF"
restart_recorder -KILL
wait_for 300 named full
ok $? "a record comes when there is room"
wait_for 300 named again
ok $? "and the next one's"
"$cluster" kill "$DIR" recorder -TERM
wait_for 60 prom_is 'ceems_recorder_running{}' 0
ok $? "a recorder that was stopped says so"
"$cluster" stop "$DIR"

# --- slurmdbd and all sinks are down ---------------------------------------------------------------

sinks='file,sqlite'
[ ! -e "${E2E_BUILDDIR:-$(e2e_builddir)}/src/libsink/libsinkmariadb.la" ] || sinks=$sinks,mariadb
kafka=()
if command -v java >/dev/null && "$e2e_top/contrib/kafka/get" >/dev/null 2>&1 &&
	[ -e "${E2E_BUILDDIR:-$(e2e_builddir)}/src/libsink/libsinkkafka.la" ]; then
	kafka=(--kafka)
	sinks=$sinks,kafka
fi
cluster_up --plugins jobcomp "${kafka[@]}" --ceems-conf <(echo "Sinks=$sinks")
[ ${#kafka[@]} -eq 0 ] || "$cluster" kill "$DIR" kafka -KILL
"$cluster" kill "$DIR" slurmdbd -KILL
"$cluster" kill "$DIR" mariadb -KILL
job=$(submit user1 --wrap 'srun true')
wait_for 60 job_is "$job" COMPLETED
ok $? "a job runs while broker and databases are down"
wait_for 60 prom_is 'ceems_recorder_slurm_up{daemon="slurmdbd"}' 0
ok $? "ceems_controller.prom shows that slurmdbd is down"
is "$(prom 'ceems_recorder_jobs_waiting{}')" 1 "and of the job that waits for its final energy"
[ ${#kafka[@]} -eq 0 ] || "$cluster" start-daemon "$DIR" kafka
"$cluster" start-daemon "$DIR" mariadb
"$cluster" start-daemon "$DIR" slurmdbd
wait_for 180 has_record "$job"
ok $? "its record comes to the file"
has_steps() {
	[ "$(record_file "$job" | jq '.steps | length')" = 3 ]
}
wait_for 180 has_steps
ok $? "with its steps"
has_told() {
	prom_is 'ceems_recorder_sink_lag_seconds{sink="file"}' 0 && prom_is 'ceems_recorder_jobs_waiting{}' 0 &&
		[ "$(prom 'ceems_recorder_sink_delivered_records_total{sink="file"}')" -ge 1 ] &&
		[ "$(prom 'ceems_controller_hook_seconds_count{}')" -ge 1 ]
}
in_sqlite() {
	sqlite3 -readonly "$DIR/records/jobs.db" "SELECT record_key FROM job_summary WHERE jobid = $job" | grep -q .
}
if command -v sqlite3 >/dev/null; then
	wait_for 180 in_sqlite
	ok $? "to SQLite"
else
	skip "sqlite3 is not installed"
fi
if [[ $sinks = *mariadb* ]]; then
	in_sql() {
		sql "select record_key from job where jobid = $job" | grep -q .
	}
	wait_for 180 in_sql
	ok $? "to MariaDB"
else
	skip "no MariaDB sink in this build"
fi
if [ ${#kafka[@]} -gt 0 ]; then
	wait_for 180 record_kafka "$job"
	ok $? "and to Kafka"
	kafka_agrees() {
		[ "$(record_kafka "$job" | jq -cS .)" = "$(record_file "$job" | jq -cS .)" ]
	}
	wait_for 60 kafka_agrees
	ok $? "the same one"
else
	skip "no Kafka here"
fi
# The times of slurmctld's hook come with the next job end: those of the first may be noted after it was written.
job=$(submit user1 --wrap true)
wait_for 60 job_is "$job" COMPLETED || bail "another job ends"
wait_for 60 has_told
ok $? "Prometheus has that nothing waits"
if command -v promtool >/dev/null; then
	is "$(promtool check metrics <"$TEXTFILE_DIR/ceems/ceems_controller.prom" 2>&1)" "" "promtool is silent"
else
	skip "promtool is not installed (Debian: prometheus)"
fi
done_testing
