CREATE TABLE IF NOT EXISTS `giverny-1`.`commands_local` ON CLUSTER `two shards`
(
    fabric     LowCardinality(String),
    id         String CODEC(ZSTD(1)),
    digest     UInt64,
    kind       LowCardinality(String),
    principal  LowCardinality(String),
    verified   LowCardinality(String),
    targets    Array(String) CODEC(ZSTD(1)),
    arguments  String CODEC(ZSTD(1)),
    issued     DateTime64(9, 'UTC'),
    expires    DateTime64(9, 'UTC'),
    dry_run    Bool,
    signature  String CODEC(ZSTD(1)),
    seen       DateTime64(9, 'UTC'),
    stored_at  DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, id, digest)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`commands` ON CLUSTER `two shards` AS `giverny-1`.`commands_local`
ENGINE = Distributed('two shards', 'giverny-1', 'commands_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`command_results_local` ON CLUSTER `two shards`
(
    fabric     LowCardinality(String),
    command_id String CODEC(ZSTD(1)),
    agent      LowCardinality(String),
    status     LowCardinality(String),
    time       DateTime64(9, 'UTC'),
    reason     String CODEC(ZSTD(1)),
    output     String CODEC(ZSTD(1)),
    stored_at  DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, command_id, agent, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`command_results` ON CLUSTER `two shards` AS `giverny-1`.`command_results_local`
ENGINE = Distributed('two shards', 'giverny-1', 'command_results_local', cityHash64(fabric));

