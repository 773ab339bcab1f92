-- Values of the links by days, made of link_hours and laid out like it: time is the start
-- of the day (UTC), made_of the sum of that of its hours, all of which are rolled up with
-- their links. When an hour of it is rolled up again, or one more, the sum is another one,
-- and the row does not count.
CREATE TABLE IF NOT EXISTS link_days
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
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- How many kinds of counts were known when an hour was rolled up: one that lacks some is
-- rolled up again, with the kinds that it lacks.
ALTER TABLE rollups ADD COLUMN IF NOT EXISTS kinds UInt8 DEFAULT 9 CODEC(ZSTD(1));

-- The key of each interval as it holds: of all revisions and versions of the graph with
-- which an interval was stored, the newest revision, and of that what was stored last. Rows
-- of other tables with other keys do not count.
CREATE VIEW IF NOT EXISTS current_intervals AS
SELECT fabric, time, tupleElement(newest, 1) AS graph_version, tupleElement(newest, 2) AS revision
FROM (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) AS newest FROM intervals GROUP BY fabric, time);

-- The views of earlier steps, of what holds alone.
CREATE OR REPLACE VIEW link_values AS
SELECT fabric, metric, time, graph_version, block, toUInt32(512 * block + i - 1) AS link, assumeNotNull(v) AS value
FROM
(
    SELECT fabric, metric, time, graph_version, block, percents, rates
    FROM link_samples
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM intervals GROUP BY fabric, time)
)
ARRAY JOIN
    arrayConcat(arrayMap(p -> p / 100, percents), arrayMap(r -> toFloat64(r), rates)) AS v,
    arrayConcat(arrayEnumerate(percents), arrayEnumerate(rates)) AS i
WHERE isNotNull(v);

CREATE OR REPLACE VIEW counter_readings AS
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM raw_counters
UNION ALL
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM
(
    SELECT fabric, device, port, time, counters, values, interval_start, graph_version
    FROM port_readings
    WHERE (fabric, interval_start, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM intervals GROUP BY fabric, time)
)
ARRAY JOIN counters AS counter, values AS value;

CREATE OR REPLACE VIEW region_transitions AS
SELECT fabric, time, graph_version, metric, state_before, state_after, regions
FROM
(
    SELECT fabric, time, graph_version, move_metrics, move_from, move_to, move_regions
    FROM intervals
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM intervals GROUP BY fabric, time)
)
ARRAY JOIN move_metrics AS metric, move_from AS state_before, move_to AS state_after, move_regions AS regions;

CREATE OR REPLACE VIEW hot_episodes AS
SELECT fabric, time, graph_version, metric, threshold_percent, episode_intervals, links, duration_ms
FROM
(
    SELECT fabric, time, graph_version, duration_ms, spell_metrics, spell_thresholds, spell_intervals, spell_links
    FROM intervals
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM intervals GROUP BY fabric, time)
)
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold_percent, spell_intervals AS episode_intervals, spell_links AS links;

CREATE OR REPLACE VIEW hot_links AS
SELECT fabric, time, graph_version, metric, link, since
FROM
(
    SELECT fabric, time, graph_version, hot_metrics, hot_links, hot_since
    FROM intervals
    WHERE (fabric, time, (graph_version, revision)) GLOBAL IN (SELECT fabric, time, argMax((graph_version, revision), (revision, stored_at)) FROM intervals GROUP BY fabric, time)
)
ARRAY JOIN hot_metrics AS metric, hot_links AS link, hot_since AS since;
