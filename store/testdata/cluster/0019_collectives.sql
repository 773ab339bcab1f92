CREATE TABLE IF NOT EXISTS `giverny-1`.`collective_runs_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    job_id        String CODEC(ZSTD(1)),
    run_id        String CODEC(ZSTD(1)),
    agent         LowCardinality(String),
    time          DateTime64(9, 'UTC'),
    begin         DateTime64(9, 'UTC'),
    end           DateTime64(9, 'UTC'),
    format        LowCardinality(String),
    ranks         UInt32,
    iterations    UInt32,
    makespan_ns   Int64,
    expected_ns   Int64,
    classes       Array(LowCardinality(String)),
    flows         Array(String) CODEC(ZSTD(1)),
    objects       Array(String) CODEC(ZSTD(1)),
    costs_ns      Array(Int64),
    confidences   Array(Float32),
    stopped_ranks Array(UInt32),
    text          String CODEC(ZSTD(1)),
    document      String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (fabric, begin, run_id, time)
SETTINGS index_granularity = 64,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`collective_runs` ON CLUSTER `two shards` AS `giverny-1`.`collective_runs_local`
ENGINE = Distributed('two shards', 'giverny-1', 'collective_runs_local', cityHash64(fabric));

