CREATE TABLE IF NOT EXISTS `giverny-1`.`rollups_local` ON CLUSTER `two shards`
(
    fabric    LowCardinality(String),
    time      DateTime('UTC') CODEC(Delta, ZSTD(1)),
    made_of   UInt64 CODEC(ZSTD(1)),
    samples   Bool CODEC(ZSTD(1)),
    stored_at DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`rollups` ON CLUSTER `two shards` AS `giverny-1`.`rollups_local`
ENGINE = Distributed('two shards', 'giverny-1', 'rollups_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`hour_counts_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    made_of       UInt64 CODEC(ZSTD(1)),
    kind          LowCardinality(String),
    metric        LowCardinality(String),
    x             Int64 CODEC(ZSTD(1)),
    y             Int64 CODEC(ZSTD(1)),
    n             UInt64 CODEC(T64, ZSTD(1)),
    total         Float64 CODEC(ZSTD(1)),
    other         Float64 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, kind, metric, time)
SETTINGS index_granularity = 2048, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`hour_counts` ON CLUSTER `two shards` AS `giverny-1`.`hour_counts_local`
ENGINE = Distributed('two shards', 'giverny-1', 'hour_counts_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`region_hours_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime('UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    made_of       UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    region_id     UInt64 CODEC(ZSTD(1)),
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    first         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    last          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    last_ms       UInt32 CODEC(ZSTD(1)),
    intervals     UInt32 CODEC(ZSTD(1)),
    max_size      UInt32 CODEC(ZSTD(1)),
    max_mean      Float64 CODEC(ZSTD(1)),
    links         Array(UInt32) CODEC(Delta, ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, time, region_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`region_hours` ON CLUSTER `two shards` AS `giverny-1`.`region_hours_local`
ENGINE = Distributed('two shards', 'giverny-1', 'region_hours_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_minutes_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    metric         LowCardinality(String),
    block          UInt32 CODEC(Delta, ZSTD(1)),
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_minutes` ON CLUSTER `two shards` AS `giverny-1`.`link_minutes_local`
ENGINE = Distributed('two shards', 'giverny-1', 'link_minutes_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_hours_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    metric         LowCardinality(String),
    block          UInt32 CODEC(Delta, ZSTD(1)),
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, block, time)
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`link_hours` ON CLUSTER `two shards` AS `giverny-1`.`link_hours_local`
ENGINE = Distributed('two shards', 'giverny-1', 'link_hours_local', cityHash64(fabric));

