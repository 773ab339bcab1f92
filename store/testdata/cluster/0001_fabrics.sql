CREATE TABLE IF NOT EXISTS `giverny-1`.`fabrics_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    graph_version UInt64,
    valid_from    DateTime64(9, 'UTC'),
    duplex        Bool,
    grid_dims     Array(UInt32),
    grid_wrap     Bool,
    devices       UInt32,
    links         UInt32,
    stored_at     DateTime64(6, 'UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, graph_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`fabrics` ON CLUSTER `two shards` AS `giverny-1`.`fabrics_local`
ENGINE = Distributed('two shards', 'giverny-1', 'fabrics_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`devices_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    graph_version UInt64 CODEC(Delta, ZSTD(1)),
    device        UInt32 CODEC(Delta, ZSTD(1)),
    name          String CODEC(ZSTD(1)),
    kind          LowCardinality(String),
    guid          String CODEC(ZSTD(1)),
    label         String CODEC(ZSTD(1)),
    level         Int8 CODEC(ZSTD(1)),
    device_group  Int32 CODEC(Delta, ZSTD(1)),
    coord         Array(Int32) CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, graph_version, device)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`devices` ON CLUSTER `two shards` AS `giverny-1`.`devices_local`
ENGINE = Distributed('two shards', 'giverny-1', 'devices_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`links_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    graph_version UInt64 CODEC(Delta, ZSTD(1)),
    link          UInt32 CODEC(Delta, ZSTD(1)),
    from_device   String CODEC(ZSTD(1)),
    from_port     LowCardinality(String),
    to_device     String CODEC(ZSTD(1)),
    to_port       LowCardinality(String),
    class         LowCardinality(String),
    capacity      Float64 CODEC(ZSTD(1)),
    dim           Int8 CODEC(ZSTD(1)),
    coord         Array(Int32) CODEC(ZSTD(1)),
    up            Bool
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, graph_version, link)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`links` ON CLUSTER `two shards` AS `giverny-1`.`links_local`
ENGINE = Distributed('two shards', 'giverny-1', 'links_local', cityHash64(fabric));

