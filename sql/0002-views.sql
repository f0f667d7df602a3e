-- SPDX-License-Identifier: GPL-2.0-or-later
-- What people ask for most. The reader's own rights count (SQL SECURITY INVOKER).
-- Ratios are those of the record's "derived", NULL where a term is unknown or a divisor 0, or where a part
-- is larger than its whole, or where counters are of some steps only. 1e0 makes them doubles: DECIMAL would cut joules per instruction to 0.

-- Where the TRES ic/ceems_cpu_time is not accounted, cpu_s is what Slurm says. It says 0 also where it did
-- not measure. The imbalances are max / mean - 1 over the nodes of a step.

CREATE OR REPLACE SQL SECURITY INVOKER VIEW step_summary AS
SELECT record_key, step_id, step_name, state, nodes, ntasks, nnodes, ncpus, start_time, end_time,
	elapsed_s, energy_j, co2e_g,
	cpu_s,
	read_bytes, write_bytes, tcp_received_bytes, tcp_sent_bytes,
	1e0 * instructions / NULLIF(cycles, 0) AS instructions_per_cycle,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR
		cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * fp_operations / NULLIF(elapsed_s, 0) END AS flop_per_s,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR
		cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * memory_bytes / NULLIF(elapsed_s, 0) END AS memory_bytes_per_s,
	CASE WHEN cache_misses <= cache_references
		THEN 1e0 * cache_misses / NULLIF(cache_references, 0) END AS cache_miss_rate,
	CASE WHEN branch_misses <= branches
		THEN 1e0 * branch_misses / NULLIF(branches, 0) END AS branch_miss_rate,
	cpu_s / NULLIF(1e0 * elapsed_s * ncpus, 0) AS cpu_efficiency,
	1e0 * run_delay_s / NULLIF(run_delay_s + cpu_s, 0) AS run_delay_rate,
	CASE WHEN pmu_running_s <= pmu_enabled_s
		THEN 1e0 * pmu_running_s / NULLIF(pmu_enabled_s, 0) END AS pmu_coverage,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR
		cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * energy_j / NULLIF(instructions, 0) END AS joules_per_instruction,
	CASE WHEN storage_read_bytes <= read_bytes
		THEN 1 - 1e0 * storage_read_bytes / NULLIF(read_bytes, 0) END AS io_cache_rate,
	1e0 * cpu_time_max_s * nnodes / NULLIF(cpu_time_s, 0) - 1 AS cpu_time_imbalance,
	cpu_time_max_node,
	1e0 * energy_max_j * nnodes / NULLIF(energy_j, 0) - 1 AS energy_imbalance,
	energy_max_node
FROM (SELECT step.*, COALESCE(cpu_time_s, NULLIF(user_cpu_s + system_cpu_s, 0)) AS cpu_s
	FROM step) AS s;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW job_summary AS
SELECT j.record_key, j.cluster, j.jobid, j.array_job_id, j.array_task_id, j.job_name, j.username,
	j.account, j.partition_name, j.state, j.submit_time, j.start_time, j.end_time, j.elapsed_s,
	j.total_nodes, j.total_cpus, j.energy_j, j.energy_j / 3600000 AS energy_kwh,
	j.energy_j / NULLIF(j.elapsed_s, 0) AS mean_power_w,
	j.energy_final, j.energy_method, j.energy_source,
	j.co2e_g, j.factor_g_per_kwh, j.factor_kind, j.pue,
	j.cpu_s, j.read_bytes, j.write_bytes, j.tcp_received_bytes, j.tcp_sent_bytes,
	1e0 * j.instructions / NULLIF(j.cycles, 0) AS instructions_per_cycle,
	CASE WHEN j.pmu_enabled_s IS NULL OR j.cpu_s IS NULL OR
		j.cpu_s <= 1.05 * j.pmu_enabled_s + 0.1
		THEN 1e0 * j.fp_operations / NULLIF(j.elapsed_s, 0) END AS flop_per_s,
	CASE WHEN j.pmu_enabled_s IS NULL OR j.cpu_s IS NULL OR
		j.cpu_s <= 1.05 * j.pmu_enabled_s + 0.1
		THEN 1e0 * j.memory_bytes / NULLIF(j.elapsed_s, 0) END AS memory_bytes_per_s,
	CASE WHEN j.cache_misses <= j.cache_references
		THEN 1e0 * j.cache_misses / NULLIF(j.cache_references, 0) END AS cache_miss_rate,
	CASE WHEN j.branch_misses <= j.branches
		THEN 1e0 * j.branch_misses / NULLIF(j.branches, 0) END AS branch_miss_rate,
	j.cpu_s / NULLIF(1e0 * j.elapsed_s * j.total_cpus, 0) AS cpu_efficiency,
	1e0 * j.run_delay_s / NULLIF(j.run_delay_s + j.cpu_s, 0) AS run_delay_rate,
	CASE WHEN j.pmu_running_s <= j.pmu_enabled_s
		THEN 1e0 * j.pmu_running_s / NULLIF(j.pmu_enabled_s, 0) END AS pmu_coverage,
	CASE WHEN j.pmu_enabled_s IS NULL OR j.cpu_s IS NULL OR
		j.cpu_s <= 1.05 * j.pmu_enabled_s + 0.1
		THEN 1e0 * j.energy_j / NULLIF(j.instructions, 0) END AS joules_per_instruction,
	CASE WHEN j.storage_read_bytes <= j.read_bytes
		THEN 1 - 1e0 * j.storage_read_bytes / NULLIF(j.read_bytes, 0) END AS io_cache_rate
FROM (SELECT job.*, COALESCE(cpu_time_s, (SELECT NULLIF(SUM(user_cpu_s + system_cpu_s), 0)
		FROM step WHERE step.record_key = job.record_key)) AS cpu_s
	FROM job) AS j;

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
