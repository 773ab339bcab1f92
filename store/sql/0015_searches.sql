-- Searches for anomalies of NICs, from the bus of commands, and what they found.
-- Progress of a command is a result too: an agent numbers it.
ALTER TABLE command_results ADD COLUMN IF NOT EXISTS kind LowCardinality(String) DEFAULT '';
ALTER TABLE command_results ADD COLUMN IF NOT EXISTS sequence UInt32 DEFAULT 0;

-- The steps of searches: a row with status 'requested' and no agent for each
-- authentic command, and one for each answer of an agent. What is told under the id
-- of a search that was never requested counts for nothing.
CREATE TABLE IF NOT EXISTS search_steps
(
    fabric      LowCardinality(String),
    search_id   String CODEC(ZSTD(1)),
    agent       LowCardinality(String),
    -- 'requested', 'accepted', 'progress', 'done', 'failed', 'refused', 'expired', 'cancelled'
    status      LowCardinality(String),
    -- of progress, from 1
    sequence    UInt32,
    -- by the agent's clock, or that of who requested it
    time        DateTime64(9, 'UTC'),
    principal   LowCardinality(String),
    reason      String CODEC(ZSTD(1)),
    -- 0: none
    region_id   UInt64,
    engine      LowCardinality(String),
    adapter     LowCardinality(String),
    algorithm   LowCardinality(String),
    peers       Array(String) CODEC(ZSTD(1)),
    seed        UInt64,
    budget      UInt32,
    -- the subsystem: of the host itself, or as it is meant where status is 'requested'
    nic_model   LowCardinality(String),
    board       LowCardinality(String),
    firmware    LowCardinality(String),
    cpu         LowCardinality(String),
    pcie        LowCardinality(String),
    nps         UInt8,
    kernel      LowCardinality(String),
    experiments UInt32,
    failed      UInt32,
    -- that the experiments took
    seconds     Float64,
    -- that they moved
    gigabytes   Float64,
    anomalies   UInt32,
    stored_at   DateTime('UTC')
)
ORDER BY (fabric, search_id, agent, sequence, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- The knowledge base: anomalies by the subsystem that has them. A finding is known by
-- its search, agent and experiment; of several rows the one that was revised last holds.
CREATE TABLE IF NOT EXISTS search_findings
(
    fabric      LowCardinality(String),
    search_id   String CODEC(ZSTD(1)),
    agent       LowCardinality(String),
    -- that first showed it
    experiment  UInt32,
    -- the experiment at which the MFS changed; 0: never
    revised     UInt32,
    time        DateTime64(9, 'UTC'),
    -- 'pause', 'throughput'
    symptom     LowCardinality(String),
    -- JSON
    workload    String CODEC(ZSTD(1)),
    -- JSON; empty: withdrawn
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
ORDER BY (fabric, nic_model, search_id, agent, experiment, revised)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- The adapters of agents' hosts, as the agents said when they were listed; the newest
-- row of an agent's adapter holds.
CREATE TABLE IF NOT EXISTS host_hardware
(
    fabric      LowCardinality(String),
    agent       LowCardinality(String),
    adapter     LowCardinality(String),
    time        DateTime64(9, 'UTC'),
    -- in the topology
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
ORDER BY (fabric, agent, adapter, time)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
