CREATE TABLE IF NOT EXISTS `giverny-1`.`feedback_audit_local` ON CLUSTER `two shards`
(
    fabric     LowCardinality(String),
    time       DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    sink       LowCardinality(String),
    action     LowCardinality(String),
    target     String CODEC(ZSTD(1)),
    dry_run    Bool,
    outcome    LowCardinality(String),
    reason     String CODEC(ZSTD(1)),
    score      Float64,
    before     String CODEC(ZSTD(1)),
    after      String CODEC(ZSTD(1)),
    stored_at  DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, time, sink, target)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`feedback_audit` ON CLUSTER `two shards` AS `giverny-1`.`feedback_audit_local`
ENGINE = Distributed('two shards', 'giverny-1', 'feedback_audit_local', cityHash64(fabric));

