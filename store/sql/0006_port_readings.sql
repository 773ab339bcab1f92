-- What the counters of a port read at one instant, of those from which no metric
-- is made: counters[i] read values[i]. New readings go here, a row for all
-- counters of a port instead of a row for each.
CREATE TABLE IF NOT EXISTS port_readings
(
    fabric         LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           LowCardinality(String),
    -- when they were read, the source's clock, cut to milliseconds
    time           DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    counters       Array(LowCardinality(String)) CODEC(ZSTD(1)),
    values         Array(UInt64) CODEC(ZSTD(1)),
    -- start of the interval with whose results the readings were stored
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1)),
    INDEX interval_starts interval_start TYPE minmax GRANULARITY 1
)
PARTITION BY toYYYYMMDD(interval_start)
ORDER BY (fabric, device, port, time)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- One counter of a port per row, of port_readings and of raw_counters, which holds
-- what was stored before this step until its retention ends.
CREATE VIEW IF NOT EXISTS counter_readings AS
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM raw_counters
UNION ALL
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM port_readings
ARRAY JOIN counters AS counter, values AS value;
