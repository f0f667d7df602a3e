-- SPDX-License-Identifier: GPL-2.0-or-later
-- include record.sql

-- What the topic has now, as Parquet with a folder for each day. A key is in one partition of the topic, so that its
-- largest offset is its last message.
SET 'execution.runtime-mode' = 'batch';
SET 'table.dml-sync' = 'true';

CREATE TABLE message (
    `offset` BIGINT METADATA VIRTUAL
) WITH (
    'connector' = 'kafka',
    'topic' = '${topic}',
    ${kafka},
    'scan.startup.mode' = 'earliest-offset',
    'scan.bounded.mode' = 'latest-offset',
    'format' = 'json',
    'json.ignore-parse-errors' = 'true'
) LIKE record (EXCLUDING OPTIONS);

CREATE TEMPORARY VIEW job AS
SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `key` ORDER BY `offset` DESC) AS age FROM message)
WHERE age = 1;

CREATE TABLE account_hour (
    cluster STRING,
    account STRING,
    `hour` STRING,
    jobs BIGINT,
    energy_j DECIMAL(38, 0),
    co2e_g DECIMAL(38, 9),
    waste_j DECIMAL(38, 6),
    `day` STRING
) PARTITIONED BY (`day`) WITH (
    'connector' = 'filesystem',
    'path' = '${folder}',
    'format' = 'parquet',
    'parquet.compression' = 'ZSTD'
);

-- include sums.sql

INSERT OVERWRITE account_hour SELECT *, SUBSTRING(`hour`, 1, 10) FROM sums;
