#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sinks mariadb and kafka refuse a part of the records for good: each quarter of the jobs by one of them. The recorder,
# which is never restarted, must list them and have no more memory after the last of CEEMS_REFUSED_RECORDS [2000] records
# than after half of them.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$e2e_top/tests/e2e/chaos.sh"
build=${E2E_BUILDDIR:-$(e2e_builddir)}
make -s -C "$build/tests/bench" fill_inbox >/dev/null || skip_all "fill_inbox is not built"

jobs=${CEEMS_REFUSED_RECORDS:-2000}
grown_kib=1024 # as much is no growth; 500 more refused records in memory would be 4 MiB
cluster_up --plugins acct_gather,jobcomp --sink-db --kafka --ceems-conf <(echo Sinks=file,kafka,mariadb)
first=1000000
now=$(date +%s)
. "$e2e_top/tests/e2e/history.sh"
history_states=3,3,3,3,3,3,3,3,3,3,3,3
history_every="20*86400/$jobs"
history_insert 1 "$jobs" >"$e2e_work/insert" 2>&1 || bail "$jobs jobs in slurmdbd: $(cat "$e2e_work/insert")"

# Of each four jobs, MariaDB refuses the record of the first (job id 4n + 1), and Kafka that of the last (4n), which is too long.
inside mariadb --no-defaults --socket=/run/mysqld/sinkdb.sock --delimiter=// ceems -e "
	CREATE TRIGGER refuse BEFORE INSERT ON job FOR EACH ROW IF NEW.jobid % 4 = 1 THEN
		SIGNAL SQLSTATE '22001' SET MYSQL_ERRNO = 1406, MESSAGE_TEXT = 'too long'; END IF" || bail "a trigger"
inside sh -c "echo first | timeout 60 kcat -b $KAFKA_BOOTSTRAP -t $KAFKA_TOPIC -P" || bail "a topic"
inside /usr/bin/python3 "$e2e_top/tests/e2e/kafka_limit.py" "$KAFKA_BOOTSTRAP" "$KAFKA_TOPIC" 4500 || bail "a limit"

# submit_ends FROM TO: puts the ends of these jobs into the inbox
submit_ends() {
	dbd_sql "
		SELECT id_job, id_array_job, id_array_task, het_job_id, het_job_offset, id_user, time_submit, time_eligible, time_start,
			time_end, state FROM ceems_job_table WHERE id_job > $first + $1 AND id_job <= $first + $2 ORDER BY id_job" |
		inside setpriv --reuid=slurm --regid=slurm --init-groups "$build/tests/bench/fill_inbox" "$INBOX_DIR" 4 >/dev/null
}

# settled N: N jobs have their record, and each sink has taken or refused it
settled() {
	local n

	n=$(inside sqlite3 -readonly "$STORE_DIR/store.db" "SELECT (SELECT count(*) FROM job WHERE next_try IS NOT NULL) +
		(SELECT count(*) FROM record WHERE seq > (SELECT min(seq) FROM sink))" 2>&1)
	[ "$n" = 0 ] && [ "$(jq -r .jobid "$RECORD_FILE" | sort -u | wc -l)" = "$1" ]
}

# kib FIELD: prints FIELD of the recorder's /proc/PID/status, such as VmRSS, in KiB
kib() {
	inside awk -v field="$1:" '$1 == field { print $2 }' "/proc/$(cat "$DIR/run/pid/recorder")/status"
}

for part in 1 2 3 4; do
	submit_ends $((jobs * (part - 1) / 4)) $((jobs * part / 4))
	wait_for $((120 + jobs / 20)) settled $((jobs * part / 4)) || bail "all records are settled"
	sleep 65 # the recorder returns free memory once a minute (TRIM_NS)
	rss[part]=$(kib VmRSS)
	diag "$((jobs * part / 4)) records: RSS ${rss[part]} KiB, most $(kib VmHWM) KiB, store $(du -k "$STORE_DIR/store.db" | cut -f 1) KiB; refused: $(refused 'sink, count(*)' 'GROUP BY sink' | paste -sd ' ')"
done
is "$(refused 'count(*)' "WHERE sink = 'mariadb'")" $((jobs / 4)) "MariaDB has refused each fourth record"
is "$(refused 'count(*)' "WHERE sink = 'kafka'")" $((jobs / 4)) "Kafka, too"
is "$(sql 'SELECT count(*) FROM job')" $((jobs - jobs / 4)) "MariaDB has the others"
[ $((rss[4] - rss[2])) -le $grown_kib ]
ok $? "the memory did not grow: $((rss[4] - rss[2])) KiB"
done_testing
