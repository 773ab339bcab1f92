CREATE TABLE IF NOT EXISTS `giverny-1`.`link_samples_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    metric        LowCardinality(String),
    block         UInt32 CODEC(Delta, ZSTD(1)),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    percents      Array(Nullable(UInt16)) CODEC(T64, ZSTD(1)),
    rates         Array(Nullable(Float32)) CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMMDD(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_samples` ON CLUSTER `two shards` AS `giverny-1`.`link_samples_local`
ENGINE = Distributed('two shards', 'giverny-1', 'link_samples_local', cityHash64(fabric));

CREATE VIEW IF NOT EXISTS `giverny-1`.`link_values` ON CLUSTER `two shards` AS
SELECT fabric, metric, time, graph_version, block, toUInt32(512 * block + i - 1) AS link, assumeNotNull(v) AS value
FROM `giverny-1`.`link_samples`
ARRAY JOIN
    arrayConcat(arrayMap(p -> p / 100, percents), arrayMap(r -> toFloat64(r), rates)) AS v,
    arrayConcat(arrayEnumerate(percents), arrayEnumerate(rates)) AS i
WHERE isNotNull(v);

CREATE TABLE IF NOT EXISTS `giverny-1`.`intervals_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    duration_ms   UInt32 CODEC(ZSTD(1)),
    links         UInt32 CODEC(ZSTD(1)),
    measured      Map(LowCardinality(String), UInt32) CODEC(ZSTD(1)),
    samples       UInt64 CODEC(ZSTD(1)),
    dropped       Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    regions       UInt32 CODEC(ZSTD(1)),
    events        UInt32 CODEC(ZSTD(1)),
    raw           UInt64 CODEC(ZSTD(1)),
    first_read    DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    last_read     DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    stored_at     DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`intervals` ON CLUSTER `two shards` AS `giverny-1`.`intervals_local`
ENGINE = Distributed('two shards', 'giverny-1', 'intervals_local', cityHash64(fabric));

