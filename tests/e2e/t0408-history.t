#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A year of 400,000 jobs in slurmdbd's database: no question of ceems-recorder or `ceems job` reads a table of jobs
# or steps as a whole, nor more rows than with 1,000 jobs. What counts is MariaDB's plan, not the time, which is shown.
# CEEMS_HISTORY_JOBS is the number of jobs; contrib/check --all takes 400,000.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp

jobs=${CEEMS_HISTORY_JOBS:-20000}
cluster_up --plugins jobcomp --ceems-conf <(echo Sinks=file)
now=$(date +%s)
first=1000000 # real jobs have lower ids
last=$((first + jobs))
states=3,4,5,6,7,8,9,10,11,1024,8192,524288 # JOB_COMPLETE to JOB_OOM, JOB_REQUEUE, JOB_RESIZING, JOB_REVOKED

# insert FROM TO: of each 1,000 jobs 500 are an array and 100 are 50 het jobs; one each 78 s, and each with 3 steps.
# 100 tasks ended in all states, half of them before they were eligible; those ended in the window 12 hours ago, too.
insert() {
	inside mariadb --no-defaults --socket=/run/mysqld/mysqld.sock slurm_acct_db <<-EOT
		SET unique_checks = 0, sql_mode = '';
		CREATE TEMPORARY TABLE h ENGINE=MyISAM AS SELECT seq AS n, $first + seq AS id, (seq - 1) % 1000 AS k,
			$now - ($jobs - seq) * 78 AS ended, 7101 + seq % 3 AS uid FROM seq_${1}_to_$2;
		INSERT INTO ceems_job_table (job_db_inx, mod_time, account, cpus_req, job_name, id_assoc, id_array_job,
			id_array_task, id_job, id_resv, id_wckey, id_user, id_group, het_job_id, het_job_offset,
			state_reason_prev, nodelist, nodes_alloc, \`partition\`, priority, state, timelimit, time_submit,
			time_eligible, time_start, time_end, tres_alloc, tres_req)
		SELECT id, ended, 'project', 1, 'wrap', (SELECT min(id_assoc) FROM ceems_assoc_table WHERE user =
				concat('user', uid - 7100)),
			IF(k < 500, id - k, 0), IF(k < 500, k, 0xfffffffe), id, 0, 0, uid, uid,
			IF(k BETWEEN 500 AND 599, id - k % 2, 0), IF(k BETWEEN 500 AND 599, k % 2, 0xfffffffe), 0, 'n1', 1,
			'debug', 1, IF(k BETWEEN 400 AND 499, ELT(1 + k % 12, $states), 3), 60, ended - 700,
			IF(k BETWEEN 400 AND 499 AND k % 24 < 12, 0, ended - 700),
			IF(k BETWEEN 400 AND 499 AND k % 24 < 12, 0, ended - 600), ended, '1=1,2=100,4=1,5=1', '1=1,2=100,4=1'
		FROM h;
		INSERT INTO ceems_step_table (job_db_inx, id_step, nodelist, nodes_alloc, node_inx, state, step_name, task_cnt,
			time_start, time_end, user_sec, tres_alloc, tres_usage_in_tot, tres_usage_out_tot)
		SELECT id, s.step, 'n1', 1, '0', 3, s.name, 1, ended - 600, ended, 500, '1=1,2=100,4=1',
			'1=500000,2=1048576,3=1000,6=1000,7=2000000', '3=1000,6=1000'
		FROM h JOIN (SELECT -5 AS step, 'batch' AS name UNION SELECT -4, 'extern' UNION SELECT 0, 'true') AS s
		ORDER BY id, s.step;
		ANALYZE TABLE ceems_job_table, ceems_step_table;
	EOT
}

# ask FILE: prints nothing; of each question a line in FILE
ask() {
	inside /usr/bin/python3 "$e2e_top/tests/e2e/slurmdb_questions.py" "$DIR/sbin/ceems-recorder" "$DIR/mariadb" \
		"$(cat "$DIR/run/pid/mariadb")" "$last" "$now" 10 >"$e2e_work/$1" 2>"$e2e_work/$1.err"
}

# rows TABLE [CONDITION]
rows() {
	inside mariadb --no-defaults --socket=/run/mysqld/mysqld.sock --skip-column-names slurm_acct_db \
		-e "SELECT count(*) FROM ceems_$1_table WHERE ${2:-true}"
}

passes "1,000 jobs in the database" insert $((jobs - 999)) "$jobs"
passes "are asked for" ask short
begin=$SECONDS
passes "$jobs jobs in the database" insert 1 $((jobs - 1000))
diag "$(rows job) jobs and $(rows step) steps, made in $((SECONDS - begin)) s"
passes "are asked for" ask long
diag "question: jobs, statements; with 1,000 and $jobs jobs: rows examined, ms, ms of mariadbd's CPU"
while IFS=$'\t' read -r name n statements examined scans wall cpu; do
	IFS=$'\t' read -r _ n_short _ short_examined _ short_wall short_cpu < <(grep "^$name	" "$e2e_work/short")
	diag "$name: $n, $statements; $short_examined, $examined; $short_wall, $wall; $short_cpu, $cpu"
	is "$n" "$n_short" "$name: the history does not change the answer"
	[ "$n" -ge 1 ] && [ "$statements" -ge 1 ]
	ok $? "  which has jobs"
	is "$scans" 0 "  no table of jobs or steps is read as a whole"
	[ "$scans" -eq 0 ] || grep -F "statement of $name" -A 20 "$e2e_work/long.err" | diag
	[ "$examined" -le $((2 * short_examined + 100)) ]
	ok $? "  $examined rows examined, with 1,000 jobs $short_examined"
done < <(grep -v ^control "$e2e_work/long")
of_window() { # NAME COLUMN
	awk -F '\t' -v name="window of $1" -v column="$2" '$1 == name { print $column }' "$e2e_work/long"
}
ago=$((now - 12 * 3600))
is "$(of_window "an hour, 12 hours ago" 2)" "$(rows job "time_end BETWEEN $ago - 3600 AND $ago")" \
	"a window has all jobs that ended in it"
[ "$(rows job "time_end BETWEEN $ago - 3600 AND $ago AND state = 8192 AND NOT time_eligible")" -ge 1 ]
ok $? "  in all states, also those that were not eligible"
[ "$(of_window "an hour, 12 hours ago" 4)" -le $(($(of_window "an hour" 4) + 20)) ]
ok $? "  no rows of jobs that ended later are examined"
is "$(wc -l <"$e2e_work/long")" 18 "all questions were asked"
is "$(awk -F '\t' '$1 == "control" { print $2, $4, $5 }' "$e2e_work/long")" "$jobs $jobs 1" \
	"the log shows the plan of a statement that does read all jobs"

has_records() {
	[ "$(wc -l <"$RECORD_FILE")" -ge 20 ]
}
passes "an array of 20 runs" submit user1 --array=1-20 --wrap 'srun true'
wait_for 120 has_records
ok $? "the recorder has its records"
is "$(jq -c '[.energy.final, (.steps | length)]' "$RECORD_FILE" | sort -u)" '[true,3]' "  final and with steps"
done_testing
