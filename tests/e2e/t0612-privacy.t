#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who can see what, with all features on: the user of a job, the user of another job and a third user try each file,
# process, socket and BPF object of ours. The test fails if one can do more than the table allows, or if a secret is found
# outside of its own file. doc/security.md documents the same.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$(dirname "$0")/energy.sh"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
here=$e2e_top/tests/e2e
secret=Secret$RANDOM$RANDOM

# --- everything on, and a secret wherever one may be --------------------------------------------------------

mkdir "$e2e_work/secrets"
install -m 600 -o slurm /dev/stdin "$e2e_work/secrets/kafka" <<-EOT
	bootstrap.servers=127.0.0.1:9
	security.protocol=SASL_PLAINTEXT
	sasl.mechanism=PLAIN
	sasl.username=ceems
	sasl.password=${secret}kafka
	debug=all
EOT
install -m 600 -o slurm /dev/stdin "$e2e_work/secrets/otlp" <<<"Authorization: Bearer ${secret}otlp"
install -m 600 /dev/stdin "$e2e_work/secrets/redfish" <<-EOT
	URL=https://127.0.0.1:9
	User=ceems
	Password=${secret}redfish
EOT
cluster_up --nodes 1 --cpus 8 --fake-rapl --daemon-env "SITE_TOKEN=${secret}environment" \
	--slurm-conf <(printf '%s\n' SlurmdDebug=debug3 SlurmctldDebug=debug3) \
	--ceems-conf <(printf '%s\n' IdleWatts=0 EnergySources=rapl,redfish "RedfishConf=$e2e_work/secrets/redfish" \
		Sinks=file,sqlite,mariadb,kafka,otlp "KafkaConf=$e2e_work/secrets/kafka" OtlpUrl=http://127.0.0.1:9 \
		"OtlpHeaders=$e2e_work/secrets/otlp" RecordScript=yes TextfileJobs=yes FinalEnergyWait=2s)
work_write
mkdir "$DIR/traces" "$DIR/profiles"
chmod 1777 "$DIR/traces" "$DIR/profiles"
printf '%s\n' "TraceDir=$DIR/traces" "ProfileDir=$DIR/profiles" >>"$DIR/etc/ceems.conf"
# a recorder with full debug logs that may dump core
"$cluster" kill "$DIR" recorder
inside env -i PATH="$PATH" SLURM_CONF="$DIR/etc/slurm.conf" sh -c 'ulimit -c unlimited; exec "$@"' sh \
	"$DIR/sbin/ceems-recorder" -D -v -u slurm -f "$DIR/etc/ceems.conf" >"$LOG_DIR/recorder-v.log" 2>&1 &
have_bpf=no
! bpf_is_loaded || have_bpf=yes

declare -A job
for user in user1 user2; do
	job[$user]=$(submit $user -n1 -J "${secret}name-$user" --comment "${secret}comment-$user" -o /dev/null --wrap \
		"JOB_TOKEN=${secret}job-$user srun --ceems-trace=100ms --ceems-profile --ceems-perf=hw,io $e2e_work/work $e2e_work/end")
done
for user in user1 user2; do
	wait_for 60 has_step "${job[$user]}" 0 || bail "both jobs run"
	wait_for 60 test -s "$DIR/traces/ceems-trace-${job[$user]}.0-n1.csv"
	ok $? "the trace of the job of $user grows"
done

# --- who may what -------------------------------------------------------------------------------------------

# The first row that matches counts. It has the most that the owner (of files of user1 and user2) and any other user may
# do. r: read, w: write, l: list; -: nothing.
# PATH TYPE MODE OWNER own others why
sed "s|^DIR|$DIR|" >"$e2e_work/table" <<'END'
DIR/run/ceems d 7[05][05] root - l LedgerDir
DIR/run/ceems/n1\.ledger f 600 root - - it has the steps of all users
DIR/spool d 700 slurm - - the folder of InboxDir and StoreDir
DIR/spool/(inbox|store) d 700 slurm - - records have names of users and jobs, and scripts
DIR/spool/(inbox|store)/.* f 600 slurm - - the same
DIR/records d 755 slurm - l a folder of the site
DIR/records/jobs\.(jsonl|db|db-wal|db-shm) f 640 slurm - - RecordFile and SqliteFile, for the group of SlurmUser
DIR/textfile(/ceems2?|/n1)? d 755 (root|slurm) - l TextfileDir
DIR/textfile/n1/ceems\.prom f 644 root - r TextfileMode, for node_exporter: numbers of jobs, no names
DIR/textfile/ceems/ceems_controller\.prom f 644 slurm - r the same of the recorder: nothing of a job
DIR/(traces|profiles) d 1777 root - lw TraceDir and ProfileDir, a folder of the site
DIR/traces/ceems-trace-[0-9.]+-n1\.csv f 600 user[12] rw - a trace is its user's own
DIR/profiles/ceems-profile-[0-9.]+-n1\.pb\.gz(\.[0-9a-f]{16}\.tmp)? f 600 user[12] rw - a profile is its user's own
/dev/shm d 1777 root - lw nothing of ours is in it
/run(/[a-z]+|/ceems-(build|etc))? d 1?755 [a-z]+ - l folders of others, and the two of the private cluster
/run/munge/munge\.socket\.2 s 777 munge - w munge, which says who asks
/run/mysqld/mysqld\.sock s 777 mysql - w MariaDB, which wants a password
/run/(munge|mysqld|slurm)/[a-z0-9.]+ f [0-9]+ [a-z]+ - r process ids of others
/sys/fs/bpf d 1777 root - lw the kernel's
/sys/fs/bpf/(maps|progs)\.debug f 400 root - - the kernel's
/sys/fs/bpf/ceems(/v[0-9]+)? d 700 root - - pins of the BPF objects
/sys/fs/bpf/ceems/v[0-9]+/[a-z_]+ f 600 root - - the same
/proc/[0-9]+/cmdline ceems-[a-z]+ - (root|slurm|user[12]) r r the kernel shows it to all; no secret is in it
/proc/[0-9]+/[a-z_]+ ceems-[a-z]+ - (root|slurm|user[12]) - - nor does the user see it that a helper runs as
END
[ $have_bpf = yes ] || sed -i '/^.sys.fs.bpf.ceems/d' "$e2e_work/table"
[ -x "$DIR/helpers/ceems-profile" ] || sed -i '/ceems-profile/d' "$e2e_work/table"
: >"$e2e_work/there"

# sweep: lists all that exists now, and what each user can do with it
sweep() {
	local user

	# /run has other folders of the private cluster, which are the machine's
	inside find "$DIR/run/ceems" "$DIR/spool" "$DIR/records" "$DIR/textfile" "$DIR/traces" "$DIR/profiles" /dev/shm /sys/fs/bpf \
		/run -path '/run/ceems-*/*' -prune -o -print | inside /usr/bin/python3 "$here/sweep.py" there >"$e2e_work/now"
	cat "$e2e_work/now" >>"$e2e_work/there"
	for user in user1 user2 user3; do
		as $user /usr/bin/python3 "$here/sweep.py" may <"$e2e_work/now" >>"$e2e_work/may.$user"
	done
}
# bpf_answers USER: each kind of answer once
bpf_answers() {
	# shellcheck disable=SC2046 # several pins
	as "$1" /usr/bin/python3 "$here/sweep.py" bpf $(inside find /sys/fs/bpf/ceems -type f 2>/dev/null) | cut -d ' ' -f 2 | sort -u | tr '\n' ' '
}
ours() {
	inside pgrep -f '/ceems-[a-z]+( |$)'
}

sweep
for user in user1 user2 user3; do
	is "$(bpf_answers $user | sed 's/EACCES //; s/EPERM //')" "" "the kernel gives $user no BPF object"
done
if [ $have_bpf = yes ]; then
	has "$(inside /usr/bin/python3 "$here/sweep.py" bpf)" "map-ids ok" "but root"
fi
open_files=$(for pid in $(ours); do
	inside find "/proc/$pid/fd" -lname '/*' -printf '%l\n' 2>/dev/null
done | sort -u)
is "$(grep -vE "^($DIR/(run/ceems|spool|records|textfile|traces|profiles|log|sysroot)/|$DIR/spool|/usr/|/dev/null|/proc/|/sys/|/memfd:)" \
	<<<"$open_files")" "" "our processes have no file open elsewhere, but programs of the step"
has "$open_files" "$DIR/spool/store/store.db" "  of the recorder's they were seen"
is "$(inside awk '$8 ~ /^@/' /proc/net/unix)" "" "there is no abstract socket"
is "$(inside ss -Hltnup | grep ceems-)" "" "none of ours listens on a port"
is "$(inside cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | grep -v key)" "" "there is no System V memory, queue or semaphore"
for name in ceems-recorder ceems-redfish; do
	pid=$(inside pgrep -x $name | head -n 1)
	is "$(inside awk '/^Max core/ { print $5, $6 }' "/proc/$pid/limits")" "0 0" "$name leaves no core"
done

# what another user reads of the programs that write files of steps: the folder of a job is not on their command line
for pid in $(inside pgrep -x 'ceems-(trace|profile)'); do
	as user3 sh -c 'cat /proc/$1/cmdline; cat /proc/$1/environ' sh "$pid" 2>/dev/null | tr '\0' '|'
	echo
done | sort -u >"$e2e_work/seen"
is "$(cat "$e2e_work/seen")" "$(cd "$DIR/helpers" && printf "$DIR/helpers/%s|\\n" ceems-[pt]r*e)" \
	"another user sees the path of ceems-trace and ceems-profile, and no folder, job or group"

# what our programs of root could still do if they were misled; those of users have none of it and a list of system calls
rights() {
	inside awk '/^(CapEff|Seccomp):/ { printf "%s ", $2 }' "/proc/$1/status"
}
is "$(rights "$(inside pgrep -x ceems-redfish | head -n 1)")" "0000000000000004 0 " "ceems-redfish has one capability, to read files"
is "$(rights "$(inside pgrep -x ceems-textfile | head -n 1)")" "000000000000001f 0 " "ceems-textfile those of files"
for user in user1 user2; do
	for pid in $(inside pgrep -x -u $user 'ceems-(trace|profile)'); do
		rights "$pid"
	done
done >"$e2e_work/rights"
is "$(tr -s ' ' '\n' <"$e2e_work/rights" | sort -u | tr '\n' ' ' | sed 's/^ *//')" "0000000000000000 2 " \
	"ceems-trace and the half of ceems-profile that is the user have none, and a list of system calls"
[ ! -x "$DIR/helpers/ceems-profile" ] || is "$(inside pgrep -x -u root ceems-profile | head -n 1 | while read -r pid; do rights "$pid"; done)" \
	"$(printf %016x $((0xc401284024 & 0x$(inside awk '/^CapEff/ { print $2 }' /proc/self/status)))) 0 " "the half that is root has those of events, /proc and files"

# --- after the jobs -----------------------------------------------------------------------------------------

# command line and environment of all processes of ours, also of those that end with their step
inside sh -c 'cat /proc/[0-9]*/cmdline' 2>/dev/null | tr '\0' '\n' >"$e2e_work/cmdlines"
for pid in $(ours); do
	inside cat "/proc/$pid/environ" 2>/dev/null
done | tr '\0' '\n' >"$e2e_work/environments"
: >"$e2e_work/end"
for user in user1 user2; do
	wait_for 60 has_record "${job[$user]}"
	ok $? "the record of the job of $user is there"
done
wait_for 60 grep -q 'kafka: .*127.0.0.1:9' "$LOG_DIR/recorder-v.log"
ok $? "the recorder has tried Kafka"
wait_for 60 grep -q 'otlp: try' "$LOG_DIR/recorder-v.log"
ok $? "and the collector"
wait_for 60 grep -q 'redfish: ' "$LOG_DIR/slurmd.n1.log"
ok $? "slurmd has tried the BMC"
sweep
is "$(inside /usr/bin/python3 "$here/sweep.py" judge "$e2e_work/table" "$e2e_work/there" "$e2e_work"/may.user[123])" "" \
	"no user can do more than the table allows, and each row of it matches something"
for user in user1 user2; do
	is "$(grep -c "ceems-trace-${job[$user]}.* rw$" "$e2e_work/may.$user")" 2 "$user may read and write the own trace"
done

# --- secrets ------------------------------------------------------------------------------------------------

password=$(sed -n 's/^password = //p' "$DIR/etc/mariadb.cnf")
printf '%s\n' "$password" "$secret"{kafka,otlp,redfish,environment} >"$e2e_work/secrets/all"
# run/state is the private cluster's note of its own options; both .sql are what made the database user
is "$(inside grep -rlFf "$e2e_work/secrets/all" "$DIR" | grep -vE "^$DIR/(etc/(mariadb.cnf|init.sql|sinkdb.sql)|run/state)\$")" "" \
	"no file has a secret but the one that it is in, and no log at debug3"
is "$(grep -Ff "$e2e_work/secrets/all" "$e2e_work/cmdlines")" "" "no command line has one"
is "$(grep -Ff "$e2e_work/secrets/all" "$e2e_work/environments")" "" "nor does the environment of a program of ours"
[ "$(grep -c . "$e2e_work/cmdlines")" -gt 20 ]
ok $? "  command lines were there to look at"
is "$(as user3 grep -rlF "$secret" "$DIR/textfile" "$DIR/records" "$DIR/run" "$DIR/spool" "$DIR/traces" "$DIR/profiles" 2>/dev/null |
	grep -v "^$DIR/run/state\$")" "" "no user finds name, comment or script of a job of others"
inside grep -qF "${secret}name-user1" "$RECORD_FILE"
ok $? "  which the record has"
done_testing
