-- SPDX-License-Identifier: GPL-2.0-or-later
-- Records in ClickHouse: the Kafka topic, read into a table that keeps the last record of each key.
--
-- ReplacingMergeTree replaces rows with the same ORDER BY within a partition. So both are made of what a correction never
-- changes: cluster, submission, key. Account and end are not among them. Questions need FINAL, or the view job_now.

CREATE TABLE job (
    key String CODEC(ZSTD(3)),
    cluster LowCardinality(String),
    jobid UInt32,
    submit DateTime('UTC') CODEC(Delta, ZSTD(3)),
    start Nullable(DateTime('UTC')),
    end Nullable(DateTime('UTC')),
    elapsed Nullable(UInt32),
    job_name Nullable(String),
    username LowCardinality(Nullable(String)),
    account LowCardinality(Nullable(String)),
    partition LowCardinality(Nullable(String)),
    qos LowCardinality(Nullable(String)),
    state LowCardinality(Nullable(String)),
    total_nodes Nullable(UInt32),
    total_cpus Nullable(UInt32),
    energy_j Nullable(UInt64),
    static_j Nullable(Decimal(20, 6)),
    cpu_static_j Nullable(Decimal(20, 6)),
    energy_final Bool,
    energy_source LowCardinality(Nullable(String)),
    energy_quality LowCardinality(Nullable(String)),
    co2e_g Nullable(Decimal(20, 9)),
    cpu_time_s Nullable(Decimal(24, 9)),
    memory_peak_bytes Nullable(UInt64),
    cpu_efficiency Nullable(Float32),
    memory_efficiency Nullable(Float32),
    gpu_utilization Nullable(Float32),
    version UInt64
) ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(submit)
ORDER BY (cluster, submit, key);

-- Members that are not named are passed over. What is no record is counted in system.kafka_consumers.
CREATE TABLE queue (
    schema String,
    key String,
    cluster String,
    jobid UInt32,
    `@submit` Nullable(DateTime('UTC')),
    `@start` Nullable(DateTime('UTC')),
    `@end` Nullable(DateTime('UTC')),
    elapsed Nullable(UInt32),
    job_name Nullable(String),
    username Nullable(String),
    account Nullable(String),
    partition Nullable(String),
    qos Nullable(String),
    state Nullable(String),
    total_nodes Nullable(UInt32),
    total_cpus Nullable(UInt32),
    energy Tuple(total_j Nullable(UInt64), static_j Nullable(Decimal(20, 6)), final Bool, source Nullable(String),
                 quality Nullable(String), by_domain Tuple(cpu_static_j Nullable(Decimal(20, 6)))),
    emissions Tuple(co2e_g Nullable(Decimal(20, 9))),
    usage Tuple(perf Tuple(cpu_time_s Nullable(Decimal(24, 9))), memory Tuple(peak_bytes Nullable(UInt64))),
    derived Tuple(cpu_efficiency Nullable(Float32), memory_efficiency Nullable(Float32), gpu_utilization Nullable(Float32))
) ENGINE = Kafka
SETTINGS kafka_broker_list = 'broker:9092',
         kafka_topic_list = 'ceems.jobs',
         kafka_group_name = 'ceems-clickhouse',
         kafka_format = 'JSONEachRow',
         kafka_handle_error_mode = 'stream',
         input_format_skip_unknown_fields = 1,
         input_format_json_ignore_unknown_keys_in_named_tuple = 1,
         date_time_input_format = 'best_effort';

-- A key is in one partition of the topic: the larger offset is the later message.
CREATE MATERIALIZED VIEW queue_to_job TO job AS
SELECT key, cluster, jobid, assumeNotNull(`@submit`) AS submit, `@start` AS start, `@end` AS end, elapsed, job_name,
       username, account, partition, qos, state, total_nodes, total_cpus,
       energy.total_j AS energy_j, energy.static_j AS static_j, energy.by_domain.cpu_static_j AS cpu_static_j,
       energy.final AS energy_final, energy.source AS energy_source, energy.quality AS energy_quality,
       emissions.co2e_g AS co2e_g, usage.perf.cpu_time_s AS cpu_time_s, usage.memory.peak_bytes AS memory_peak_bytes,
       derived.cpu_efficiency AS cpu_efficiency, derived.memory_efficiency AS memory_efficiency,
       derived.gpu_utilization AS gpu_utilization, _offset AS version
FROM queue
WHERE schema = 'ceems.job.v1' AND `@submit` IS NOT NULL;

-- The last record of each key, with the waste: all energy of a job that failed; else the idle power of the CPUs that it
-- held and did not use, cut to microjoules.
CREATE VIEW job_now AS
SELECT *, toDecimal128(if(state IN ('FAILED', 'BOOT_FAIL', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL'),
                          toInt64(energy_j) * 1000000,
                          toInt64(floor(toFloat64(cpu_static_j * 1000000)
                                        * greatest(1 - toFloat64(cpu_time_s) / toFloat64(elapsed * total_cpus), 0)))), 6)
          / 1000000 AS waste_j
FROM job FINAL;

CREATE VIEW account_hour AS
SELECT account, formatDateTime(end, '%Y-%m-%dT%H') AS hour, count() AS jobs, sum(energy_j) AS energy_j,
       sum(co2e_g) AS co2e_g, sum(waste_j) AS waste_j
FROM job_now
WHERE end IS NOT NULL
GROUP BY account, hour;
