-- SPDX-License-Identifier: GPL-2.0-or-later
-- What people ask for most. The reader's own rights count (SQL SECURITY INVOKER).
-- Ratios are those of the record's "derived", NULL where a term is unknown or a divisor 0, or where a part
-- is larger than its whole, or where counters are of some steps only. 1e0 makes them doubles: DECIMAL would cut joules per instruction to 0.
-- A quotient of DECIMALs has four digits more than its dividend: kWh are kept to ten, which is less than a joule.

-- Where the TRES ic/ceems_cpu_time is not accounted, cpu_s is what Slurm says. It says 0 also where it did
-- not measure. The imbalances are max / mean - 1 over the nodes of a step.
--
-- What several views have in common is a text in a variable of the session, and here once.

SET @ratios = '1e0 * instructions / NULLIF(cycles, 0) AS instructions_per_cycle,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * fp_operations / NULLIF(elapsed_s, 0) END AS flop_per_s,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * memory_bytes / NULLIF(elapsed_s, 0) END AS memory_bytes_per_s,
	CASE WHEN cache_misses <= cache_references
		THEN 1e0 * cache_misses / NULLIF(cache_references, 0) END AS cache_miss_rate,
	CASE WHEN branch_misses <= branches
		THEN 1e0 * branch_misses / NULLIF(branches, 0) END AS branch_miss_rate,
	cpu_s / NULLIF(1e0 * elapsed_s * cpus, 0) AS cpu_efficiency,
	1e0 * run_delay_s / NULLIF(run_delay_s + cpu_s, 0) AS run_delay_rate,
	CASE WHEN pmu_running_s <= pmu_enabled_s
		THEN 1e0 * pmu_running_s / NULLIF(pmu_enabled_s, 0) END AS pmu_coverage,
	CASE WHEN pmu_enabled_s IS NULL OR cpu_s IS NULL OR cpu_s <= 1.05 * pmu_enabled_s + 0.1
		THEN 1e0 * energy_j / NULLIF(instructions, 0) END AS joules_per_instruction,
	CASE WHEN storage_read_bytes <= read_bytes
		THEN 1 - 1e0 * storage_read_bytes / NULLIF(read_bytes, 0) END AS io_cache_rate';

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW step_summary AS
SELECT record_key, step_id, step_name, state, nodes, ntasks, nnodes, ncpus, start_time, end_time,
	elapsed_s, energy_j, co2e_g,
	cpu_s,
	read_bytes, write_bytes, tcp_received_bytes, tcp_sent_bytes,
	', @ratios, ',
	1e0 * cpu_time_max_s * nnodes / NULLIF(cpu_time_s, 0) - 1 AS cpu_time_imbalance,
	cpu_time_max_node,
	1e0 * energy_max_j * nnodes / NULLIF(energy_j, 0) - 1 AS energy_imbalance,
	energy_max_node
FROM (SELECT step.*, ncpus AS cpus, COALESCE(cpu_time_s, NULLIF(user_cpu_s + system_cpu_s, 0)) AS cpu_s
	FROM step) AS s');

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW job_summary AS
SELECT record_key, cluster, jobid, array_job_id, array_task_id, job_name, username,
	account, partition_name, state, submit_time, start_time, end_time, elapsed_s,
	total_nodes, total_cpus, energy_j, energy_j * 1.000000 / 3600000 AS energy_kwh,
	energy_j / NULLIF(elapsed_s, 0) AS mean_power_w,
	energy_final, energy_method, energy_source,
	co2e_g, co2e_method, factor_g_per_kwh, factor_kind, factor_source, pue, market_co2e_g, embodied_g,
	cpu_s, read_bytes, write_bytes, tcp_received_bytes, tcp_sent_bytes,
	', @ratios, '
FROM (SELECT job.*, total_cpus AS cpus, COALESCE(cpu_time_s, steps_cpu_s,
		(SELECT NULLIF(SUM(user_cpu_s + system_cpu_s), 0) FROM step
			WHERE step.record_key = job.record_key AND step.submit_time = job.submit_time)) AS cpu_s
	FROM job) AS j');

-- Sums by day of the jobs' ends (UTC). Each job is in one of four places at every moment, also if `ceems db
-- maintain` dies: in usage_day, with all that ever was; in one of the days of submission that usage_open
-- lists, of which the jobs are summed up here; or in the month that is leaving. So what is new is all that has
-- to be looked at. A sum over unknown figures is a lower bound: jobs_measured says how many of the jobs
-- are in energy_j, cpu_used_jobs how many in cpu_used_s, and cpu_used_of_s what these had allocated.

SET @sums = 'COUNT(*) AS jobs, COUNT(energy_j) AS jobs_measured,
	SUM(elapsed_s) AS elapsed_s, SUM(elapsed_s * total_cpus) AS cpu_s,
	SUM(elapsed_s * total_nodes) AS node_s,
	COUNT(COALESCE(cpu_time_s, steps_cpu_s) + elapsed_s * total_cpus) AS cpu_used_jobs,
	SUM(CASE WHEN elapsed_s * total_cpus IS NOT NULL THEN COALESCE(cpu_time_s, steps_cpu_s) END) AS cpu_used_s,
	SUM(CASE WHEN COALESCE(cpu_time_s, steps_cpu_s) IS NOT NULL THEN elapsed_s * total_cpus END) AS cpu_used_of_s,
	SUM(energy_j) AS energy_j, SUM(co2e_g) AS co2e_g, SUM(cpu_energy_j) AS cpu_energy_j,
	SUM(cpu_energy_static_j) AS cpu_energy_static_j, SUM(dram_energy_j) AS dram_energy_j,
	SUM(dram_energy_static_j) AS dram_energy_static_j, SUM(gpu_energy_j) AS gpu_energy_j,
	SUM(gpu_energy_static_j) AS gpu_energy_static_j, SUM(other_energy_j) AS other_energy_j,
	SUM(other_energy_static_j) AS other_energy_static_j, SUM(read_bytes) AS read_bytes,
	SUM(write_bytes) AS write_bytes, SUM(storage_read_bytes) AS storage_read_bytes,
	SUM(storage_write_bytes) AS storage_write_bytes,
	SUM(tcp_received_bytes) AS tcp_received_bytes, SUM(tcp_sent_bytes) AS tcp_sent_bytes,
	SUM(market_co2e_g) AS market_co2e_g, SUM(cpu_co2e_g) AS cpu_co2e_g,
	SUM(dram_co2e_g) AS dram_co2e_g, SUM(gpu_co2e_g) AS gpu_co2e_g,
	SUM(other_co2e_g) AS other_co2e_g, SUM(fresh_factor_j) AS fresh_factor_j,
	SUM(last_factor_j) AS last_factor_j, SUM(static_factor_j) AS static_factor_j,
	SUM(default_factor_j) AS default_factor_j, SUM(embodied_g) AS embodied_g,
	SUM(CASE WHEN co2e_g IS NOT NULL THEN energy_j * pue END) AS co2e_of_j';

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW usage_of_open AS
SELECT submit_day, DATE(end_time) AS day, cluster, username, account, partition_name, state, ', @sums, '
FROM usage_open STRAIGHT_JOIN job ON job.submit_time >= submit_day
	AND job.submit_time < submit_day + INTERVAL 1 DAY
GROUP BY submit_day, DATE(end_time), cluster, username, account, partition_name, state');

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW usage_of_leaving AS
SELECT NULL AS submit_day, DATE(end_time) AS day, cluster, username, account, partition_name, state, ', @sums, '
FROM job_leaving
GROUP BY DATE(end_time), cluster, username, account, partition_name, state');

CREATE OR REPLACE SQL SECURITY INVOKER VIEW usage_all AS
SELECT * FROM usage_of_open
UNION ALL
SELECT * FROM usage_of_leaving
	WHERE NOT EXISTS (SELECT 1 FROM archived WHERE archived.state = 'summed')
UNION ALL
SELECT submit_day, day, cluster, username, account, partition_name, state, jobs, jobs_measured, elapsed_s,
	cpu_s, node_s, cpu_used_jobs, cpu_used_s, cpu_used_of_s, energy_j, co2e_g, cpu_energy_j,
	cpu_energy_static_j, dram_energy_j, dram_energy_static_j, gpu_energy_j,
	gpu_energy_static_j, other_energy_j, other_energy_static_j, read_bytes, write_bytes,
	storage_read_bytes, storage_write_bytes, tcp_received_bytes, tcp_sent_bytes,
	market_co2e_g, cpu_co2e_g, dram_co2e_g, gpu_co2e_g, other_co2e_g, fresh_factor_j,
	last_factor_j, static_factor_j, default_factor_j, embodied_g, co2e_of_j
FROM usage_day
	WHERE NOT EXISTS (SELECT 1 FROM usage_open WHERE usage_open.submit_day = usage_day.submit_day);

SET @quotients = 'SUM(jobs) AS jobs, SUM(jobs_measured) AS jobs_measured,
	SUM(cpu_s) / 3600 AS cpu_hours, SUM(node_s) / 3600 AS node_hours,
	SUM(energy_j) * 1.000000 / 3600000 AS energy_kwh, SUM(co2e_g) / 1000 AS co2e_kg,
	SUM(market_co2e_g) / 1000 AS market_co2e_kg, SUM(embodied_g) / 1000 AS embodied_kg,
	SUM(cpu_used_s) / NULLIF(SUM(cpu_used_of_s), 0) AS cpu_efficiency
FROM usage_all WHERE day IS NOT NULL';

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW user_month AS
SELECT cluster, username, DATE_FORMAT(day, ''%Y-%m'') AS month, ', @quotients, '
GROUP BY cluster, username, DATE_FORMAT(day, ''%Y-%m'')');

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW account_month AS
SELECT cluster, account, DATE_FORMAT(day, ''%Y-%m'') AS month, ', @quotients, '
GROUP BY cluster, account, DATE_FORMAT(day, ''%Y-%m'')');

EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE SQL SECURITY INVOKER VIEW partition_day AS
SELECT cluster, partition_name, day, ', @quotients, '
GROUP BY cluster, partition_name, day');

-- Whose emissions, and how they were come by: location-based (co2e_kg, of it each domain's), by the site's contract,
-- and the share of the making of the machines. mean_g_per_kwh is the factor, weighted by energy, before PUE.
-- The shares are of the energy whose factor is known: fresh from the grid, the last before an outage, the
-- yearly mean of the country, the mean of the world.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW emissions_month AS
SELECT cluster, username, account, month, jobs, jobs_measured, energy_kwh, co2e_kg, market_co2e_kg,
	embodied_kg, mean_g_per_kwh, cpu_co2e_kg, dram_co2e_kg, gpu_co2e_kg, other_co2e_kg,
	fresh_j / NULLIF(known_j, 0) AS fresh_share, last_j / NULLIF(known_j, 0) AS last_share,
	static_j / NULLIF(known_j, 0) AS static_share, default_j / NULLIF(known_j, 0) AS default_share
FROM (SELECT cluster, username, account, DATE_FORMAT(day, '%Y-%m') AS month,
		SUM(jobs) AS jobs, SUM(jobs_measured) AS jobs_measured,
		SUM(energy_j) * 1.000000 / 3600000 AS energy_kwh, SUM(co2e_g) / 1000 AS co2e_kg,
		SUM(market_co2e_g) / 1000 AS market_co2e_kg, SUM(embodied_g) / 1000 AS embodied_kg,
		SUM(co2e_g) * 3600000 / NULLIF(SUM(co2e_of_j), 0) AS mean_g_per_kwh,
		SUM(cpu_co2e_g) / 1000 AS cpu_co2e_kg, SUM(dram_co2e_g) / 1000 AS dram_co2e_kg,
		SUM(gpu_co2e_g) / 1000 AS gpu_co2e_kg, SUM(other_co2e_g) / 1000 AS other_co2e_kg,
		1e0 * SUM(fresh_factor_j) AS fresh_j, 1e0 * SUM(last_factor_j) AS last_j,
		1e0 * SUM(static_factor_j) AS static_j, 1e0 * SUM(default_factor_j) AS default_j,
		SUM(COALESCE(fresh_factor_j, 0) + COALESCE(last_factor_j, 0) +
			COALESCE(static_factor_j, 0) + COALESCE(default_factor_j, 0)) AS known_j
	FROM usage_all WHERE day IS NOT NULL
	GROUP BY cluster, username, account, DATE_FORMAT(day, '%Y-%m')) AS m;

-- Who left most of what they held unused in the last 30 days, by user and account. Of the jobs whose CPU time
-- is known (jobs_measured of jobs): core hours held, used and their ratio; jobs that used less than a
-- tenth. idle_kwh is the idle power of what they held, for the part that they did not use: static energy
-- times (1 - CPU efficiency), of the jobs where both are known. It cannot tell why: a job may wait for
-- memory, GPUs or the network, or hold a node alone because it needs the memory; with hyper-threads as
-- CPUs, one busy thread of two is 50 %. Unknown is NULL, and last.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW efficiency AS
SELECT cluster, username, account, COUNT(*) AS jobs, COUNT(used_s) AS jobs_measured,
	SUM(CASE WHEN used_s IS NOT NULL THEN held_s END) / 3600 AS core_hours_allocated,
	SUM(used_s) / 3600 AS core_hours_used,
	SUM(CASE WHEN used_s IS NOT NULL THEN held_s - LEAST(used_s, held_s) END) / 3600
		AS core_hours_unused,
	1e0 * SUM(used_s) / NULLIF(SUM(CASE WHEN used_s IS NOT NULL THEN held_s END), 0)
		AS cpu_efficiency,
	SUM(static_j * (1e0 - LEAST(used_s, held_s) / held_s)) / 3600000 AS idle_kwh,
	SUM(used_s < held_s / 10) AS jobs_below_10_percent
FROM (SELECT cluster, username, account, elapsed_s * total_cpus AS held_s,
		COALESCE(cpu_time_s, steps_cpu_s) AS used_s,
		CASE WHEN COALESCE(cpu_energy_static_j, dram_energy_static_j, gpu_energy_static_j,
			other_energy_static_j) IS NOT NULL
		THEN COALESCE(cpu_energy_static_j, 0) + COALESCE(dram_energy_static_j, 0) +
			COALESCE(gpu_energy_static_j, 0) + COALESCE(other_energy_static_j, 0)
		END AS static_j
	FROM job
	WHERE end_time >= UTC_TIMESTAMP() - INTERVAL 30 DAY AND elapsed_s > 0 AND total_cpus > 0) AS j
GROUP BY cluster, username, account
ORDER BY core_hours_unused DESC;

-- A database user's own jobs and steps. The views run with the rights of whoever made them, so that their users
-- need none on job and step. Who asks is USER(), the name that the client logged in with: what is before
-- the last @, as a name may have one. CURRENT_USER() would be the views' maker.
--
-- So they must be granted to no account without a name, where a client may claim any. And by the role
-- ceems_user only: a routine or view of somebody else's runs with its maker's rights, but not his roles, and
-- so cannot read what its caller may.
--
-- LIMIT keeps the reader's own conditions out of the views. The server would test them first where they have
-- an index, and its warnings quote what it found in rows of others: CAST(script AS SIGNED).
CREATE OR REPLACE SQL SECURITY DEFINER VIEW my_jobs AS
SELECT job.* FROM job
WHERE username = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1 -
	CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4) COLLATE utf8mb4_nopad_bin
LIMIT 18446744073709551615;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW my_steps AS
SELECT step.* FROM step JOIN job USING (record_key, submit_time)
WHERE job.username = CONVERT(LEFT(USER(), CHAR_LENGTH(USER()) - 1 -
	CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))) USING utf8mb4) COLLATE utf8mb4_nopad_bin
LIMIT 18446744073709551615;
