CREATE TABLE IF NOT EXISTS `giverny-1`.`port_readings_local` ON CLUSTER `two shards`
(
    fabric         LowCardinality(String),
    device         String CODEC(ZSTD(1)),
    port           LowCardinality(String),
    time           DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    counters       Array(LowCardinality(String)) CODEC(ZSTD(1)),
    values         Array(UInt64) CODEC(ZSTD(1)),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1)),
    INDEX interval_starts interval_start TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMMDD(interval_start)
ORDER BY (fabric, device, port, time)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`port_readings` ON CLUSTER `two shards` AS `giverny-1`.`port_readings_local`
ENGINE = Distributed('two shards', 'giverny-1', 'port_readings_local', cityHash64(fabric));

CREATE VIEW IF NOT EXISTS `giverny-1`.`counter_readings` ON CLUSTER `two shards` AS
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM `giverny-1`.`raw_counters`
UNION ALL
SELECT fabric, counter, device, port, time, value, interval_start, graph_version
FROM `giverny-1`.`port_readings`
ARRAY JOIN counters AS counter, values AS value;

