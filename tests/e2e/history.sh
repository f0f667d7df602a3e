# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# history.sh - fills slurmdbd's database with $jobs jobs, of which the last ends at $now, and whose ids are from $first + 1
# on. The caller defines the function dbd_sql (lib.sh), and may set history_every and history_usage.

history_every=78 # seconds from the end of one job to that of the next
history_usage='' # more TRES of each step, such as ,1001=5

history_states=3,4,5,6,7,8,9,10,11,1024,8192,524288 # JOB_COMPLETE to JOB_OOM, JOB_REQUEUE, JOB_RESIZING, JOB_REVOKED

# history_insert FROM TO: a job each $history_every seconds, with 3 steps each. Of 1,000 jobs 500 are tasks of an array, and 100 are the
# components of 50 het jobs. 100 tasks have ended in all states, half of them before they were eligible; such tasks are
# also among the jobs that ended 12 hours ago.
history_insert() {
	dbd_sql <<-EOT
		SET unique_checks = 0, sql_mode = '';
		CREATE TEMPORARY TABLE h ENGINE=MyISAM AS SELECT seq AS n, $first + seq AS id, (seq - 1) % 1000 AS k,
			$now - FLOOR(($jobs - seq) * $history_every) AS ended, 7101 + seq % 3 AS uid FROM seq_${1}_to_$2;
		INSERT INTO ceems_job_table (job_db_inx, mod_time, account, cpus_req, job_name, id_assoc, id_array_job,
			id_array_task, id_job, id_resv, id_wckey, id_user, id_group, het_job_id, het_job_offset,
			state_reason_prev, nodelist, nodes_alloc, \`partition\`, priority, state, timelimit, time_submit,
			time_eligible, time_start, time_end, tres_alloc, tres_req)
		SELECT id, ended, 'project', 1, 'wrap', (SELECT min(id_assoc) FROM ceems_assoc_table WHERE user =
				concat('user', uid - 7100)),
			IF(k < 500, id - k, 0), IF(k < 500, k, 0xfffffffe), id, 0, 0, uid, uid,
			IF(k BETWEEN 500 AND 599, id - k % 2, 0), IF(k BETWEEN 500 AND 599, k % 2, 0xfffffffe), 0, 'n1', 1,
			'debug', 1, IF(k BETWEEN 400 AND 499, ELT(1 + k % 12, $history_states), 3), 60, ended - 700,
			IF(k BETWEEN 400 AND 499 AND k % 24 < 12, 0, ended - 700),
			IF(k BETWEEN 400 AND 499 AND k % 24 < 12, 0, ended - 600), ended, '1=1,2=100,3=1000,4=1,5=1', '1=1,2=100,4=1'
		FROM h;
		INSERT INTO ceems_step_table (job_db_inx, id_step, nodelist, nodes_alloc, node_inx, state, step_name, task_cnt,
			time_start, time_end, user_sec, tres_alloc, tres_usage_in_tot, tres_usage_out_tot)
		SELECT id, s.step, 'n1', 1, '0', 3, s.name, 1, ended - 600, ended, 500, '1=1,2=100,4=1',
			'1=500000,2=1048576,3=1000,6=1000,7=2000000$history_usage', '3=1000,6=1000'
		FROM h JOIN (SELECT -5 AS step, 'batch' AS name UNION SELECT -4, 'extern' UNION SELECT 0, 'true') AS s
		ORDER BY id, s.step;
		ANALYZE TABLE ceems_job_table, ceems_step_table;
	EOT
}
