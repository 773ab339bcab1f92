CREATE TABLE IF NOT EXISTS `giverny-1`.`link_days_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    metric         LowCardinality(String),
    block          UInt32 CODEC(Delta, ZSTD(1)),
    time           DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    made_of        UInt64 CODEC(ZSTD(1)),
    measured       Array(UInt32) CODEC(T64, ZSTD(1)),
    percent_sums   Array(UInt64) CODEC(T64, ZSTD(1)),
    percent_maxima Array(UInt16) CODEC(T64, ZSTD(1)),
    rate_averages  Array(Float32) CODEC(ZSTD(1)),
    rate_maxima    Array(Float32) CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_days` ON CLUSTER `two shards` AS `giverny-1`.`link_days_local`
ENGINE = Distributed('two shards', 'giverny-1', 'link_days_local', cityHash64(fabric));

ALTER TABLE `giverny-1`.`rollups_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS kinds UInt8 DEFAULT 9 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`rollups` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS kinds UInt8 DEFAULT 9 CODEC(ZSTD(1));

CREATE VIEW IF NOT EXISTS `giverny-1`.`current_intervals` ON CLUSTER `two shards` AS
SELECT fabric, time, tupleElement(newest, 1) AS graph_version, tupleElement(newest, 2) AS revision
FROM (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) AS newest FROM `giverny-1`.`intervals` GROUP BY fabric, time);

CREATE OR REPLACE VIEW `giverny-1`.`link_values` ON CLUSTER `two shards` AS
SELECT fabric, metric, time, graph_version, block, toUInt32(512 * block + i - 1) AS link, assumeNotNull(v) AS value
FROM
(
    SELECT fabric, metric, time, graph_version, block, percents, rates
    FROM `giverny-1`.`link_samples`
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM `giverny-1`.`intervals` GROUP BY fabric, time)
)
ARRAY JOIN
    arrayConcat(arrayMap(p -> p / 100, percents), arrayMap(r -> toFloat64(r), rates)) AS v,
    arrayConcat(arrayEnumerate(percents), arrayEnumerate(rates)) AS i
WHERE isNotNull(v);

CREATE OR REPLACE VIEW `giverny-1`.`counter_readings` ON CLUSTER `two shards` AS
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM `giverny-1`.`raw_counters`
UNION ALL
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM
(
    SELECT fabric, device, port, time, counters, values, interval_start, graph_version
    FROM `giverny-1`.`port_readings`
    WHERE (fabric, interval_start, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM `giverny-1`.`intervals` GROUP BY fabric, time)
)
ARRAY JOIN counters AS counter, values AS value;

CREATE OR REPLACE VIEW `giverny-1`.`region_transitions` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, state_before, state_after, regions
FROM
(
    SELECT fabric, time, graph_version, move_metrics, move_from, move_to, move_regions
    FROM `giverny-1`.`intervals`
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM `giverny-1`.`intervals` GROUP BY fabric, time)
)
ARRAY JOIN move_metrics AS metric, move_from AS state_before, move_to AS state_after, move_regions AS regions;

CREATE OR REPLACE VIEW `giverny-1`.`hot_episodes` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, threshold_percent, episode_intervals, links, duration_ms
FROM
(
    SELECT fabric, time, graph_version, duration_ms, spell_metrics, spell_thresholds, spell_intervals, spell_links
    FROM `giverny-1`.`intervals`
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM `giverny-1`.`intervals` GROUP BY fabric, time)
)
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold_percent, spell_intervals AS episode_intervals, spell_links AS links;

CREATE OR REPLACE VIEW `giverny-1`.`hot_links` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, link, since
FROM
(
    SELECT fabric, time, graph_version, hot_metrics, hot_links, hot_since
    FROM `giverny-1`.`intervals`
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM `giverny-1`.`intervals` GROUP BY fabric, time)
)
ARRAY JOIN hot_metrics AS metric, hot_links AS link, hot_since AS since;

