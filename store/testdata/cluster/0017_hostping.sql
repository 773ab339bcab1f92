CREATE TABLE IF NOT EXISTS `giverny-1`.`hostping_runs_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    agent         LowCardinality(String),
    run_id        String CODEC(ZSTD(1)),
    status        LowCardinality(String),
    time          DateTime64(9, 'UTC'),
    principal     LowCardinality(String),
    reason        String CODEC(ZSTD(1)),
    trigger       LowCardinality(String),
    mode          LowCardinality(String),
    region_id     UInt64,
    model         LowCardinality(String),
    state         LowCardinality(String),
    seconds       Float32,
    probes        UInt32,
    bottlenecks   Array(LowCardinality(String)),
    accused       Array(String) CODEC(ZSTD(1)),
    confidences   Array(Float32),
    sentence      String CODEC(ZSTD(1)),
    rnics         Array(LowCardinality(String)),
    endpoints     Array(LowCardinality(String)),
    latency_us    Array(Float32) CODEC(ZSTD(1)),
    gbps          Array(Float32) CODEC(ZSTD(1)),
    baseline_latency_us Array(Float32) CODEC(ZSTD(1)),
    baseline_gbps Array(Float32) CODEC(ZSTD(1)),
    report        String CODEC(ZSTD(3)),
    graph         String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, agent, time, run_id, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`hostping_runs` ON CLUSTER `two shards` AS `giverny-1`.`hostping_runs_local`
ENGINE = Distributed('two shards', 'giverny-1', 'hostping_runs_local', cityHash64(fabric));

CREATE TABLE IF NOT EXISTS `giverny-1`.`hostping_baselines_local` ON CLUSTER `two shards`
(
    fabric      LowCardinality(String),
    model       LowCardinality(String),
    agent       LowCardinality(String),
    run_id      String CODEC(ZSTD(1)),
    time        DateTime64(9, 'UTC'),
    pairs       UInt32,
    document    String CODEC(ZSTD(3)),
    stored_at   DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, model, agent, time, run_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`hostping_baselines` ON CLUSTER `two shards` AS `giverny-1`.`hostping_baselines_local`
ENGINE = Distributed('two shards', 'giverny-1', 'hostping_baselines_local', cityHash64(fabric));

