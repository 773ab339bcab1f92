ALTER TABLE `giverny-1`.`command_results_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS kind LowCardinality(String) DEFAULT '';

ALTER TABLE `giverny-1`.`command_results` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS kind LowCardinality(String) DEFAULT '';

ALTER TABLE `giverny-1`.`command_results_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS sequence UInt32 DEFAULT 0;

ALTER TABLE `giverny-1`.`command_results` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS sequence UInt32 DEFAULT 0;

CREATE TABLE IF NOT EXISTS `giverny-1`.`search_steps_local` ON CLUSTER `two shards`
(
    fabric      LowCardinality(String),
    search_id   String CODEC(ZSTD(1)),
    agent       LowCardinality(String),
    status      LowCardinality(String),
    sequence    UInt32,
    time        DateTime64(9, 'UTC'),
    principal   LowCardinality(String),
    reason      String CODEC(ZSTD(1)),
    region_id   UInt64,
    engine      LowCardinality(String),
    adapter     LowCardinality(String),
    algorithm   LowCardinality(String),
    peers       Array(String) CODEC(ZSTD(1)),
    seed        UInt64,
    budget      UInt32,
    nic_model   LowCardinality(String),
    board       LowCardinality(String),
    firmware    LowCardinality(String),
    cpu         LowCardinality(String),
    pcie        LowCardinality(String),
    nps         UInt8,
    kernel      LowCardinality(String),
    experiments UInt32,
    failed      UInt32,
    seconds     Float64,
    gigabytes   Float64,
    anomalies   UInt32,
    stored_at   DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, search_id, agent, sequence, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`search_steps` ON CLUSTER `two shards` AS `giverny-1`.`search_steps_local`
ENGINE = Distributed('two shards', 'giverny-1', 'search_steps_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`search_findings_local` ON CLUSTER `two shards`
(
    fabric      LowCardinality(String),
    search_id   String CODEC(ZSTD(1)),
    agent       LowCardinality(String),
    experiment  UInt32,
    revised     UInt32,
    time        DateTime64(9, 'UTC'),
    symptom     LowCardinality(String),
    workload    String CODEC(ZSTD(1)),
    mfs         String CODEC(ZSTD(1)),
    nic_model   LowCardinality(String),
    board       LowCardinality(String),
    firmware    LowCardinality(String),
    cpu         LowCardinality(String),
    pcie        LowCardinality(String),
    nps         UInt8,
    kernel      LowCardinality(String),
    stored_at   DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, nic_model, search_id, agent, experiment, revised)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`search_findings` ON CLUSTER `two shards` AS `giverny-1`.`search_findings_local`
ENGINE = Distributed('two shards', 'giverny-1', 'search_findings_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`host_hardware_local` ON CLUSTER `two shards`
(
    fabric      LowCardinality(String),
    agent       LowCardinality(String),
    adapter     LowCardinality(String),
    time        DateTime64(9, 'UTC'),
    device      String CODEC(ZSTD(1)),
    nic_model   LowCardinality(String),
    board       LowCardinality(String),
    firmware    LowCardinality(String),
    cpu         LowCardinality(String),
    pcie        LowCardinality(String),
    nps         UInt8,
    kernel      LowCardinality(String),
    stored_at   DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, agent, adapter, time)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`host_hardware` ON CLUSTER `two shards` AS `giverny-1`.`host_hardware_local`
ENGINE = Distributed('two shards', 'giverny-1', 'host_hardware_local', cityHash64(fabric));

