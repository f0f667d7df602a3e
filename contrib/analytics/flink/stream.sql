-- SPDX-License-Identifier: GPL-2.0-or-later
-- include record.sql

-- The topic as a table by key: a repeat changes nothing, a correction takes the old values out of the sums.
CREATE TABLE job (
    PRIMARY KEY (`key`) NOT ENFORCED
) WITH (
    'connector' = 'upsert-kafka',
    'topic' = '${topic}',
    ${kafka},
    'properties.group.id' = '${group}',
    'key.format' = 'raw',
    'value.format' = 'json',
    'value.json.ignore-parse-errors' = 'true',
    'value.fields-include' = 'ALL'
) LIKE record (EXCLUDING OPTIONS);

-- Back to Kafka: the last message of a key is the sum; an empty one says that no job is left in it.
CREATE TABLE account_hour (
    cluster STRING,
    account STRING,
    `hour` STRING,
    jobs BIGINT,
    energy_j DECIMAL(38, 0),
    co2e_g DECIMAL(38, 9),
    waste_j DECIMAL(38, 6),
    PRIMARY KEY (cluster, account, `hour`) NOT ENFORCED
) WITH (
    'connector' = 'upsert-kafka',
    'topic' = '${sums_topic}',
    ${kafka},
    'key.format' = 'json',
    'value.format' = 'json',
    'value.json.encode.decimal-as-plain-number' = 'true'
);

-- One message per sum and second, not one per job.
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '1 s';
SET 'table.exec.mini-batch.size' = '5000';

-- include sums.sql

INSERT INTO account_hour SELECT * FROM sums;
