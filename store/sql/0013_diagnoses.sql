-- What schedulers and logs say of a fabric. These rows are facts, whichever interval
-- they were stored with: one that is stored again, in another revision or since its
-- source sent it again, says the same or more, and of several the one stored last
-- holds.
--
-- Jobs, as they start, change and end: a row for each time that one was sent.
CREATE TABLE IF NOT EXISTS jobs
(
    fabric         LowCardinality(String),
    job_id         String CODEC(ZSTD(1)),
    name           String CODEC(ZSTD(1)),
    user           LowCardinality(String),
    -- devices of the topology
    nodes          Array(LowCardinality(String)) CODEC(ZSTD(1)),
    -- a requeued id has another start
    start          DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    -- 1970: it runs
    end            DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    -- in the scheduler's own word
    state          LowCardinality(String),
    -- start of the interval with whose results the row was stored
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    revision       UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, start, job_id)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Parts of the fabric that failed or came back, as logs and management systems
-- report it, and congestion protection. What the counters show is in events.
CREATE TABLE IF NOT EXISTS failures
(
    fabric         LowCardinality(String),
    time           DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    kind           LowCardinality(String),
    -- empty: the fabric as a whole
    device         String CODEC(ZSTD(1)),
    -- empty: the device as a whole
    port           String CODEC(ZSTD(1)),
    detail         String CODEC(ZSTD(1)),
    interval_start DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version  UInt64 CODEC(ZSTD(1)),
    revision       UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    stored_at      DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, kind, device, port)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- What the nodes of a job moved in an interval, in bytes; null: not measured.
CREATE TABLE IF NOT EXISTS job_traffic
(
    fabric         LowCardinality(String),
    job_id         String CODEC(ZSTD(1)),
    -- start of the interval in which it was moved
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
PARTITION BY toYYYYMM(interval_start)
ORDER BY (fabric, time, job_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Why regions are congested, one row per region and interval. document is the whole
-- diagnosis as JSON, the form of giverny.diagnoses; the other columns are for queries.
CREATE TABLE IF NOT EXISTS diagnoses
(
    fabric        LowCardinality(String),
    -- start of the interval
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    -- place in the interval's list, from 0
    rank          UInt32 CODEC(ZSTD(1)),
    region_id     UInt64 CODEC(ZSTD(1)),
    metric        LowCardinality(String),
    severity      Enum8('Neg' = 0, 'Low' = 1, 'Medium' = 2, 'High' = 3) CODEC(ZSTD(1)),
    mean          Float64 CODEC(ZSTD(1)),
    class         LowCardinality(String),
    -- 0 to 1
    confidence    Float64 CODEC(ZSTD(1)),
    -- empty: not known
    root_device   String CODEC(ZSTD(1)),
    root_port     LowCardinality(String),
    root_peer     String CODEC(ZSTD(1)),
    root_kind     LowCardinality(String),
    -- the accused first, and the blame of each, 0 to 1
    job_ids       Array(String) CODEC(ZSTD(1)),
    blames        Array(Float64) CODEC(ZSTD(1)),
    -- near failures, the likeliest first
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
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, rank)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- What congestion mitigation events (CME) came to, each with the interval in which that
-- became known: the congestion event that one met, 1970 if none was on, and the stall
-- of all regions, links times percent of time, before and after.
CREATE TABLE IF NOT EXISTS mitigations
(
    fabric        LowCardinality(String),
    -- start of the interval
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    -- of the first throttling event, and of the last
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
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time, begin)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
