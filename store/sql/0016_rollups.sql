-- Roll-ups: what long spans are asked about, added up by hours of event time. A roll-up
-- of an hour is made of the rows that held when it was made: made_of is the sum
-- of hashes of the rows of `intervals` that start in the hour or in the one after it, of
-- whose intervals forecasts and transitions need the first. When one of them is stored
-- again, or one more, the sum is another one, and the roll-up does not count until
-- it has been made again, as further rows with another made_of. So nothing counts twice.
--
-- The hours that have been rolled up. A row is written after those of the hour in the
-- tables below; only rows with its made_of count.
CREATE TABLE IF NOT EXISTS rollups
(
    fabric    LowCardinality(String),
    -- start of the hour
    time      DateTime('UTC') CODEC(Delta, ZSTD(1)),
    made_of   UInt64 CODEC(ZSTD(1)),
    -- whether the samples of links were all there, so that they are rolled up too
    samples   Bool CODEC(ZSTD(1)),
    stored_at DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Counts by hour, of which those of any longer span are sums. What x, y, total and
-- other are depends on the kind, each of which is made by store/sql/rollup/KIND.sql.
CREATE TABLE IF NOT EXISTS hour_counts
(
    fabric        LowCardinality(String),
    time          DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    made_of       UInt64 CODEC(ZSTD(1)),
    kind          LowCardinality(String),
    -- empty: all metrics together
    metric        LowCardinality(String),
    x             Int64 CODEC(ZSTD(1)),
    y             Int64 CODEC(ZSTD(1)),
    n             UInt64 CODEC(T64, ZSTD(1)),
    total         Float64 CODEC(ZSTD(1)),
    other         Float64 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, kind, metric, time)
SETTINGS index_granularity = 2048, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- The regions of an hour, one row per region that was tracked, hour and version.
CREATE TABLE IF NOT EXISTS region_hours
(
    fabric        LowCardinality(String),
    time          DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    made_of       UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    region_id     UInt64 CODEC(ZSTD(1)),
    -- the worst of the hour
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    -- start of its first interval in the hour, and of its last
    first         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    last          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    -- length of the last
    last_ms       UInt32 CODEC(ZSTD(1)),
    intervals     UInt32 CODEC(ZSTD(1)),
    max_size      UInt32 CODEC(ZSTD(1)),
    -- the highest of its means
    max_mean      Float64 CODEC(ZSTD(1)),
    -- every link that was in it, ascending
    links         Array(UInt32) CODEC(Delta, ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, time, region_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Values of the links by five minutes and by hours, laid out as in link_samples: element
-- i (from 0) of the arrays is link 512 * block + i. measured is the number of intervals in
-- which a link was measured; what is 0 there is 0 in the others. Of a metric in percent
-- percent_sums / measured is the average, in hundredths of a percent, and percent_maxima
-- the highest; of any other rate_averages and rate_maxima, rounded to 12
-- significant bits. The arrays that a metric does not use are empty.
CREATE TABLE IF NOT EXISTS link_minutes
(
    fabric         LowCardinality(String),
    metric         LowCardinality(String),
    block          UInt32 CODEC(Delta, ZSTD(1)),
    -- start of the five minutes
    time           DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    made_of        UInt64 CODEC(ZSTD(1)),
    measured       Array(UInt16) CODEC(T64, ZSTD(1)),
    percent_sums   Array(UInt32) CODEC(T64, ZSTD(1)),
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

CREATE TABLE IF NOT EXISTS link_hours
(
    fabric         LowCardinality(String),
    metric         LowCardinality(String),
    block          UInt32 CODEC(Delta, ZSTD(1)),
    -- start of the hour
    time           DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    made_of        UInt64 CODEC(ZSTD(1)),
    measured       Array(UInt16) CODEC(T64, ZSTD(1)),
    percent_sums   Array(UInt32) CODEC(T64, ZSTD(1)),
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
