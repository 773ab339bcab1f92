-- Regions of congestion, one row per region and interval.
CREATE TABLE IF NOT EXISTS regions
(
    fabric        LowCardinality(String),
    -- start of the interval
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    -- place in the interval's list, from 0
    rank          UInt32 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    -- 0: the region was not tracked
    region_id     UInt64 CODEC(ZSTD(1)),
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    size          UInt32 CODEC(ZSTD(1)),
    mean          Float64 CODEC(ZSTD(1)),
    max           Float64 CODEC(ZSTD(1)),
    name          String CODEC(ZSTD(1)),
    -- bounding box in switch coordinates, corners inside; empty without a grid
    box_min       Array(Int32) CODEC(ZSTD(1)),
    box_max       Array(Int32) CODEC(ZSTD(1)),
    birth         DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    age_intervals UInt32 CODEC(ZSTD(1)),
    -- ascending
    links         Array(UInt32) CODEC(Delta, ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1)),
    INDEX region_ids region_id TYPE bloom_filter(0.01) GRANULARITY 1
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- The state of the network by each metric: that of its worst region.
CREATE TABLE IF NOT EXISTS network_states
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    state         Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    -- number of regions and of their links by severity, Neg to High
    regions       Array(UInt32) CODEC(ZSTD(1)),
    region_links  Array(UInt32) CODEC(ZSTD(1)),
    -- share of links with a value, 0 to 1
    coverage      Float32 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, time)
SETTINGS ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- What happened to the fabric, its regions and its jobs.
CREATE TABLE IF NOT EXISTS events
(
    fabric         LowCardinality(String),
    time           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    -- start of the interval with whose results the event was stored
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    -- place in the interval's list, from 0
    rank           UInt32 CODEC(ZSTD(1)),
    kind           LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           String CODEC(ZSTD(1)),
    -- 0: none
    region_id      UInt64 CODEC(ZSTD(1)),
    job_id         String CODEC(ZSTD(1)),
    detail         String CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1)),
    INDEX interval_starts interval_start TYPE minmax GRANULARITY 1
)
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
