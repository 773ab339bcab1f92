-- Probes inside hosts (Hostping, NSDI'23), from the bus of commands: a row with status
-- 'requested' and no agent for each authentic command, one for each answer of an agent,
-- and one for each run of an agent's own monitor. What is answered under the id of a
-- command that was never requested counts for nothing.
CREATE TABLE IF NOT EXISTS hostping_runs
(
    fabric        LowCardinality(String),
    agent         LowCardinality(String),
    run_id        String CODEC(ZSTD(1)),
    -- 'requested', 'accepted', 'done', 'failed', 'refused', 'expired', 'cancelled'
    status        LowCardinality(String),
    -- by the agent's clock, or that of who requested it
    time          DateTime64(9, 'UTC'),
    principal     LowCardinality(String),
    reason        String CODEC(ZSTD(1)),
    -- 'command', 'idle', 'pause', 'drop'
    trigger       LowCardinality(String),
    -- 'full', 'affinitive', 'baseline'
    mode          LowCardinality(String),
    -- 0: none
    region_id     UInt64,
    -- equal for hosts of equal make and structure
    model         LowCardinality(String),
    -- 'idle', 'busy'; empty: nothing was judged
    state         LowCardinality(String),
    seconds       Float32,
    probes        UInt32,
    -- the verdicts, the surest first
    bottlenecks   Array(LowCardinality(String)),
    accused       Array(String) CODEC(ZSTD(1)),
    confidences   Array(Float32),
    -- one for people, of the whole run
    sentence      String CODEC(ZSTD(1)),
    -- the pairs that were measured
    rnics         Array(LowCardinality(String)),
    endpoints     Array(LowCardinality(String)),
    latency_us    Array(Float32) CODEC(ZSTD(1)),
    gbps          Array(Float32) CODEC(ZSTD(1)),
    -- 0: none
    baseline_latency_us Array(Float32) CODEC(ZSTD(1)),
    baseline_gbps Array(Float32) CODEC(ZSTD(1)),
    -- JSON, as giverny hostping run and graph print them; empty: none
    report        String CODEC(ZSTD(3)),
    graph         String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC')
)
ORDER BY (fabric, agent, time, run_id, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Baselines that agents took on commands: of a model those of many hosts, each run one.
CREATE TABLE IF NOT EXISTS hostping_baselines
(
    fabric      LowCardinality(String),
    model       LowCardinality(String),
    agent       LowCardinality(String),
    run_id      String CODEC(ZSTD(1)),
    time        DateTime64(9, 'UTC'),
    pairs       UInt32,
    -- JSON, as giverny hostping baseline writes it
    document    String CODEC(ZSTD(3)),
    stored_at   DateTime('UTC')
)
ORDER BY (fabric, model, agent, time, run_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
