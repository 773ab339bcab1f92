-- Readings of counters from which no metric is made: diagnostic ones, and those
-- that nobody knows yet.
CREATE TABLE IF NOT EXISTS raw_counters
(
    fabric         LowCardinality(String),
    counter        LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           LowCardinality(String),
    -- when it was read, the source's clock, cut to milliseconds
    time           DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    value          UInt64 CODEC(Delta, ZSTD(1)),
    -- start of the interval with whose results the reading was stored
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1)),
    INDEX interval_starts interval_start TYPE minmax GRANULARITY 1
)
PARTITION BY toYYYYMMDD(interval_start)
ORDER BY (fabric, counter, device, port, time)
SETTINGS ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
