#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever fails around jobcomp, slurmctld runs, jobs run, and no record is lost: a bad ceems.conf, a
# spool that cannot be written, slurmctld killed as jobs end, and everything that a record goes
# through down at the start.
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
# With another line in ceems.conf, or without it.
configure() {
	sed -i "/^${1%%=*}=/d" "$CEEMS_CONF"
	echo "$1" >>"$CEEMS_CONF"
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

# --- a spool that cannot be opened ---------------------------------------------------------------

mkdir -m 700 "$DIR/closed" # root's, and slurmctld is not root
configure "SpoolDir=$DIR/closed/spool"
passes "slurmctld starts without a spool" restart_slurmctld -TERM
as user1 srun -J waiting true
wait_for 60 grep -q 'error: ceems: jobcomp: .*closed' "$LOG_DIR/slurmctld.log"
ok $? "a line says which"
fails "there is no record" has_record 2
chown slurm "$DIR/closed"
wait_for 60 has_record 2
ok $? "the record comes when the folder is there"
is "$(our_errors | wc -l)" 2 "the trouble was logged once"
cp "$e2e_work/good.conf" "$CEEMS_CONF"
passes "slurmctld goes on with the old spool" restart_slurmctld -TERM

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
	[ "$(known COMPLETED | wc -l)" -ge 6 ] # of these 8 and those before
}
wait_for 120 some_ended
ended=$(known COMPLETED)
passes "and while jobs end" restart_slurmctld -KILL
# A job that slurmctld had not saved yet is lost with it, unless it told of the end before. What it remembers as
# pending waits for CPUs that it remembers as taken, for ten minutes if need be: until the node says that nothing runs.
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
# slurmctld may tell of an end a second time, as it does not remember the first; it may even run
# again what it remembers as pending, so that the time is another
is "$(jq -rc '[.key, .state, .exit_code]' "$RECORD_FILE" | sort -u | jq -r '.[0]' | uniq -d)" \
	"" "a repeat says the same"
# what it remembers as running and is over on the node would hold the CPUs for minutes
inside scancel -u user1
nothing_runs() {
	[ -z "$(known RUNNING,COMPLETING,PENDING)" ]
}
wait_for 300 nothing_runs

# --- killed between a job's end and its way to the disk -------------------------------------------

# by name: a slurmctld that was killed may give a job's number again
named() {
	jq -r .job_name "$RECORD_FILE" | grep -qxF "$1"
}
as user1 srun -J before true
as user1 srun -J unwritten true
wait_for 120 named unwritten
"$cluster" kill "$DIR" slurmctld -TERM # it saves that the job is over
# the entries of the last job are taken out of the spool, as if they had not been written
unwrite() {
	python3 - "$1" "$RECORD_FILE" <<'EOT'
import glob, json, sys
lines = open(sys.argv[2]).read().splitlines(True)
job = [l for l in lines if json.loads(l)["job_name"] == "unwritten"]
key = json.loads(job[0])["key"].encode()
last = sorted(glob.glob(sys.argv[1] + "/*.seg"))[-1]
data = open(last, "rb").read()
at = data.index(key) - 16
assert data[at:at + 4] == b"\xce\xee\x5b\x01", "no entry of the spool"
open(last, "r+b").truncate(at)
open(sys.argv[2], "w").writelines(l for l in lines if l not in job)
EOT
}
passes "a job's end did not get to the disk" unwrite "$SPOOL_DIR"
"$cluster" start-daemon "$DIR" slurmctld
wait_for 120 named unwritten
ok $? "the next slurmctld finds it among its jobs"
is "$(jq -r 'select(.job_name == "before" or .job_name == "unwritten") | .key' "$RECORD_FILE" | sort |
	uniq -d)" "" "and none of those that did"

# --- the disk is full -----------------------------------------------------------------------------

configure SpoolMaxSize=1
restart_slurmctld -TERM
full=$(submit user1 -J full --wrap true)
wait_for 60 grep -q 'error: ceems: jobcomp: cannot write to' "$LOG_DIR/slurmctld.log"
ok $? "a spool of no size is said to be full"
wait_for 60 job_is "$full" COMPLETED
ok $? "jobs run nevertheless"
# that a record which was waiting for its energy cannot be written is a line of its own
is "$(grep -c 'error: ceems: jobcomp: cannot write to' "$LOG_DIR/slurmctld.log")" 1 "one line"
restart_slurmctld -TERM
again=$(submit user1 -J again --wrap true)
wait_for 60 job_is "$again" COMPLETED
fails "there is no record of them" named again
cp "$e2e_work/good.conf" "$CEEMS_CONF"
restart_slurmctld -KILL
wait_for 300 named full
ok $? "a record comes when there is room, two slurmctlds later"
wait_for 300 named again
ok $? "and the next one's, from where the killed one had put it"
"$cluster" stop "$DIR"

# --- nobody is there ------------------------------------------------------------------------------

sinks='file'
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
done_testing
