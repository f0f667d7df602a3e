-- SPDX-License-Identifier: GPL-2.0-or-later
-- Energy, CO2e and waste of the view or table `job` by cluster, account and hour of the job's end.
--
-- Waste: all energy of a job that failed; else the idle power of the CPUs that it held and did not use. Each is cut to
-- microjoules, so that a retraction takes out what was put in.
CREATE TEMPORARY VIEW waste AS
SELECT cluster, account, SUBSTRING(`@end`, 1, 13) AS `hour`, energy.total_j AS energy_j, emissions.co2e_g AS co2e_g,
       CASE WHEN state IN ('FAILED', 'BOOT_FAIL', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL')
            THEN CAST(energy.total_j * 1000000 AS BIGINT)
            ELSE CAST(FLOOR(CAST(energy.by_domain.cpu_static_j * 1000000 AS DOUBLE)
                            * GREATEST(1 - CAST(`usage`.perf.cpu_time_s AS DOUBLE) / CAST(elapsed * total_cpus AS DOUBLE), 0))
                      AS BIGINT)
       END AS waste_uj
FROM job
WHERE `schema` = 'ceems.job.v1' AND `@end` IS NOT NULL;

CREATE TEMPORARY VIEW sums AS
SELECT cluster, account, `hour`, COUNT(*) AS jobs, SUM(energy_j) AS energy_j, SUM(co2e_g) AS co2e_g,
       CAST(CAST(SUM(waste_uj) AS DECIMAL(32, 0)) / 1000000 AS DECIMAL(38, 6)) AS waste_j
FROM waste
GROUP BY cluster, account, `hour`;
