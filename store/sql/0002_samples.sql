-- Values of the links. A row is one metric of 512 consecutive links in one
-- interval: link number 512 * block + i is element i (from 0) of the array.
-- Percentages are in `percents`, in hundredths of a percent; quantities of any
-- other unit are in `rates`, rounded to 12 significant bits. The array that a
-- metric does not use is empty. A link that was not measured is NULL.
CREATE TABLE IF NOT EXISTS link_samples
(
    fabric        LowCardinality(String),
    metric        LowCardinality(String),
    block         UInt32 CODEC(Delta, ZSTD(1)),
    -- start of the interval
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    percents      Array(Nullable(UInt16)) CODEC(T64, ZSTD(1)),
    rates         Array(Nullable(Float32)) CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMMDD(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- The same, a row per link and instant, for dashboards and ad hoc questions: a
-- link that was not measured has no row. Say `block = intDiv(LINK, 512)` beside
-- `link = LINK` to read one link only.
CREATE VIEW IF NOT EXISTS link_values AS
SELECT fabric, metric, time, graph_version, block, toUInt32(512 * block + i - 1) AS link, assumeNotNull(v) AS value
FROM link_samples
ARRAY JOIN
    arrayConcat(arrayMap(p -> p / 100, percents), arrayMap(r -> toFloat64(r), rates)) AS v,
    arrayConcat(arrayEnumerate(percents), arrayEnumerate(rates)) AS i
WHERE isNotNull(v);

-- The intervals that are stored in full: a row is written after everything else
-- of its interval. Time from counter to table is stored_at - first_read.
CREATE TABLE IF NOT EXISTS intervals
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    duration_ms   UInt32 CODEC(ZSTD(1)),
    links         UInt32 CODEC(ZSTD(1)),
    -- links with a value, by metric
    measured      Map(LowCardinality(String), UInt32) CODEC(ZSTD(1)),
    -- counter readings that went in
    samples       UInt64 CODEC(ZSTD(1)),
    dropped       Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    regions       UInt32 CODEC(ZSTD(1)),
    events        UInt32 CODEC(ZSTD(1)),
    raw           UInt64 CODEC(ZSTD(1)),
    -- 1970 if the interval had no readings
    first_read    DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    last_read     DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    stored_at     DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
