CREATE TABLE IF NOT EXISTS `giverny-1`.`regions_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    rank          UInt32 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    region_id     UInt64 CODEC(ZSTD(1)),
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    size          UInt32 CODEC(ZSTD(1)),
    mean          Float64 CODEC(ZSTD(1)),
    max           Float64 CODEC(ZSTD(1)),
    name          String CODEC(ZSTD(1)),
    box_min       Array(Int32) CODEC(ZSTD(1)),
    box_max       Array(Int32) CODEC(ZSTD(1)),
    birth         DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    age_intervals UInt32 CODEC(ZSTD(1)),
    links         Array(UInt32) CODEC(Delta, ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1)),
    INDEX region_ids region_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`regions` ON CLUSTER `two shards` AS `giverny-1`.`regions_local`
ENGINE = Distributed('two shards', 'giverny-1', 'regions_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`network_states_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    state         Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    regions       Array(UInt32) CODEC(ZSTD(1)),
    region_links  Array(UInt32) CODEC(ZSTD(1)),
    coverage      Float32 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, metric, time)
SETTINGS ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`network_states` ON CLUSTER `two shards` AS `giverny-1`.`network_states_local`
ENGINE = Distributed('two shards', 'giverny-1', 'network_states_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`events_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    time           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    rank           UInt32 CODEC(ZSTD(1)),
    kind           LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           String CODEC(ZSTD(1)),
    region_id      UInt64 CODEC(ZSTD(1)),
    job_id         String CODEC(ZSTD(1)),
    detail         String CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1)),
    INDEX interval_starts interval_start TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`events` ON CLUSTER `two shards` AS `giverny-1`.`events_local`
ENGINE = Distributed('two shards', 'giverny-1', 'events_local', cityHash64(fabric));

