-- SPDX-License-Identifier: GPL-2.0-or-later
-- What people ask for most. The reader's own rights count (SQL SECURITY INVOKER).

CREATE OR REPLACE SQL SECURITY INVOKER VIEW job_summary AS
SELECT record_key, cluster, jobid, array_job_id, array_task_id, job_name, username, account,
	partition_name, state, submit_time, start_time, end_time, elapsed_s, total_nodes,
	total_cpus, energy_j, energy_j / 3600000 AS energy_kwh,
	energy_j / NULLIF(elapsed_s, 0) AS mean_power_w,
	energy_final, energy_method, energy_source,
	co2e_g, factor_g_per_kwh, factor_kind, pue,
	read_bytes, write_bytes, instructions / NULLIF(cycles, 0) AS instructions_per_cycle
FROM job;

-- A sum over unknown figures is a lower bound: jobs_measured says how many of the jobs are in it.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW user_month AS
SELECT cluster, username, DATE_FORMAT(end_time, '%Y-%m') AS month,
	COUNT(*) AS jobs, COUNT(energy_j) AS jobs_measured,
	SUM(elapsed_s * total_cpus) / 3600 AS cpu_hours,
	SUM(energy_j) / 3600000 AS energy_kwh, SUM(co2e_g) / 1000 AS co2e_kg
FROM job
WHERE end_time IS NOT NULL
GROUP BY cluster, username, DATE_FORMAT(end_time, '%Y-%m');

CREATE OR REPLACE SQL SECURITY INVOKER VIEW account_month AS
SELECT cluster, account, DATE_FORMAT(end_time, '%Y-%m') AS month,
	COUNT(*) AS jobs, COUNT(energy_j) AS jobs_measured,
	SUM(elapsed_s * total_cpus) / 3600 AS cpu_hours,
	SUM(energy_j) / 3600000 AS energy_kwh, SUM(co2e_g) / 1000 AS co2e_kg
FROM job
WHERE end_time IS NOT NULL
GROUP BY cluster, account, DATE_FORMAT(end_time, '%Y-%m');
