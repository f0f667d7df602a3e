-- SPDX-License-Identifier: GPL-2.0-or-later
-- The members of a record that are used here; others are passed over. Numbers are decimals, so that sums are exact.
CREATE TABLE record (
    `key` STRING NOT NULL,
    `schema` STRING,
    cluster STRING,
    account STRING,
    state STRING,
    `@end` STRING,
    elapsed BIGINT,
    total_cpus BIGINT,
    energy ROW<total_j DECIMAL(20, 0), by_domain ROW<cpu_static_j DECIMAL(20, 6)>>,
    emissions ROW<co2e_g DECIMAL(20, 9)>,
    `usage` ROW<perf ROW<cpu_time_s DECIMAL(24, 9)>>
) WITH ('connector' = 'kafka');
