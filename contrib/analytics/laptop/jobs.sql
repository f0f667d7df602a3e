-- SPDX-License-Identifier: GPL-2.0-or-later
-- Records as the tables job and step of DuckDB. `records` is the list of files with JSON lines: RecordFile, or the topic
-- by `kcat -C -e -q -o beginning -u -t ceems.jobs`. Members that are not named here are not read.
--
-- The last line of a key counts: a repeat changes nothing, a correction replaces. A dump of several partitions keeps the
-- order of each key, since the key decides the partition.

CREATE OR REPLACE TABLE line AS
FROM (SELECT row_number() OVER () AS number, * FROM read_json(getvariable('records'), format = 'newline_delimited', maximum_object_size = 67108864, columns = {
    schema: 'VARCHAR', key: 'VARCHAR', job_key: 'VARCHAR', part: 'INTEGER', parts: 'INTEGER',
    cluster: 'VARCHAR', jobid: 'UBIGINT', job_name: 'VARCHAR', username: 'VARCHAR', account: 'VARCHAR',
    partition: 'VARCHAR', qos: 'VARCHAR', state: 'VARCHAR',
    "@submit": 'TIMESTAMP', "@start": 'TIMESTAMP', "@end": 'TIMESTAMP', "@queue_wait": 'BIGINT', elapsed: 'BIGINT',
    total_cpus: 'INTEGER', total_nodes: 'INTEGER',
    energy: 'STRUCT(total_j BIGINT, static_j DECIMAL(20, 6), final BOOLEAN, source VARCHAR, method VARCHAR, quality VARCHAR,
                    by_domain STRUCT(cpu_j DECIMAL(20, 6), cpu_static_j DECIMAL(20, 6), dram_j DECIMAL(20, 6),
                                     gpu_j DECIMAL(20, 6), other_j DECIMAL(20, 6)))',
    emissions: 'STRUCT(co2e_g DECIMAL(20, 9), factor_g_per_kwh DOUBLE, kind VARCHAR, region VARCHAR)',
    usage: 'STRUCT(perf STRUCT(cpu_time_s DECIMAL(24, 9)), memory STRUCT(peak_bytes BIGINT, allocated_bytes BIGINT))',
    derived: 'STRUCT(cpu_efficiency DOUBLE, memory_efficiency DOUBLE, gpu_utilization DOUBLE)',
    steps: 'STRUCT(stepid UBIGINT, name VARCHAR, state VARCHAR, elapsed BIGINT, energy STRUCT(total_j DECIMAL(20, 6)))[]'}))
WHERE schema IN ('ceems.job.v1', 'ceems.steps.v1')
QUALIFY row_number() OVER (PARTITION BY key ORDER BY number DESC) = 1;

-- Waste: all energy of a job that failed; else the idle power of the CPUs that it held and did not use. Each in microjoules
-- and cut, so that sums are exact whatever the order.
CREATE OR REPLACE TABLE job AS
SELECT * EXCLUDE (number, job_key, part),
       date_trunc('hour', "@end") AS hour,
       (CASE WHEN state IN ('FAILED', 'BOOT_FAIL', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL')
             THEN energy.total_j * 1000000::DECIMAL(20, 0)
             ELSE floor((energy.by_domain.cpu_static_j * 1000000)::DOUBLE
                        * greatest(1 - usage.perf.cpu_time_s::DOUBLE / (elapsed * total_cpus)::DOUBLE, 0))
        END / 1000000)::DECIMAL(20, 6) AS waste_j
FROM line
WHERE schema = 'ceems.job.v1';

-- Steps of all parts. The extern step has the whole job, and is left out of sums.
CREATE OR REPLACE TABLE step AS
SELECT coalesce(job_key, key) AS job_key, unnest(steps, recursive := false) AS step
FROM line;
DROP TABLE line;
