CREATE TABLE IF NOT EXISTS `giverny-1`.`jobs_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    job_id         String CODEC(ZSTD(1)),
    name           String CODEC(ZSTD(1)),
    user           LowCardinality(String),
    nodes          Array(LowCardinality(String)) CODEC(ZSTD(1)),
    start          DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    end            DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    state          LowCardinality(String),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    revision       UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, start, job_id)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`jobs` ON CLUSTER `two shards` AS `giverny-1`.`jobs_local`
ENGINE = Distributed('two shards', 'giverny-1', 'jobs_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`failures_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    time           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    kind           LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           String CODEC(ZSTD(1)),
    detail         String CODEC(ZSTD(1)),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    revision       UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, kind, device, port)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`failures` ON CLUSTER `two shards` AS `giverny-1`.`failures_local`
ENGINE = Distributed('two shards', 'giverny-1', 'failures_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`job_traffic_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    job_id         String CODEC(ZSTD(1)),
    time           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    read_bytes       Nullable(Float64) CODEC(ZSTD(1)),
    write_bytes      Nullable(Float64) CODEC(ZSTD(1)),
    rdma_read_bytes  Nullable(Float64) CODEC(ZSTD(1)),
    rdma_write_bytes Nullable(Float64) CODEC(ZSTD(1)),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    revision       UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, job_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`job_traffic` ON CLUSTER `two shards` AS `giverny-1`.`job_traffic_local`
ENGINE = Distributed('two shards', 'giverny-1', 'job_traffic_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`diagnoses_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    rank          UInt32 CODEC(ZSTD(1)),
    region_id     UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    mean          Float64 CODEC(ZSTD(1)),
    class         LowCardinality(String),
    confidence    Float64 CODEC(ZSTD(1)),
    root_device   String CODEC(ZSTD(1)),
    root_port     LowCardinality(String),
    root_peer     String CODEC(ZSTD(1)),
    root_kind     LowCardinality(String),
    job_ids       Array(String) CODEC(ZSTD(1)),
    blames        Array(Float64) CODEC(ZSTD(1)),
    failure_kinds   Array(LowCardinality(String)) CODEC(ZSTD(1)),
    failure_devices Array(String) CODEC(ZSTD(1)),
    failure_ports   Array(LowCardinality(String)) CODEC(ZSTD(1)),
    victim_ids    Array(String) CODEC(ZSTD(1)),
    action        String CODEC(ZSTD(1)),
    text          String CODEC(ZSTD(1)),
    document      String CODEC(ZSTD(3)),
    revision      UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1)),
    INDEX region_ids region_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX accused job_ids TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`diagnoses` ON CLUSTER `two shards` AS `giverny-1`.`diagnoses_local`
ENGINE = Distributed('two shards', 'giverny-1', 'diagnoses_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`mitigations_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    begin         DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    end           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    throttlings   UInt32 CODEC(ZSTD(1)),
    congestion    DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    stall_before  Float64 CODEC(ZSTD(1)),
    stall_after   Float64 CODEC(ZSTD(1)),
    alleviated    Bool,
    revision      UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, begin)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`mitigations` ON CLUSTER `two shards` AS `giverny-1`.`mitigations_local`
ENGINE = Distributed('two shards', 'giverny-1', 'mitigations_local', cityHash64(fabric));

