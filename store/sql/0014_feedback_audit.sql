-- The audit of feedback: everything that was changed outside of Giverny, would have
-- been in a dry run, or was refused.
CREATE TABLE IF NOT EXISTS feedback_audit
(
    fabric     LowCardinality(String),
    time       DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    -- 'slurm', 'kubernetes-nodes', 'webhook-NAME', 'alertmanager'
    sink       LowCardinality(String),
    -- 'mark', 'relieve', 'reapply', 'release', 'deliver', 'fire', 'resolve'
    action     LowCardinality(String),
    -- the node, the region, or the key of what was delivered
    target     String CODEC(ZSTD(1)),
    dry_run    Bool,
    -- 'done', 'failed', 'refused'
    outcome    LowCardinality(String),
    reason     String CODEC(ZSTD(1)),
    score      Float64,
    -- what was changed, in the sink's own form
    before     String CODEC(ZSTD(1)),
    after      String CODEC(ZSTD(1)),
    stored_at  DateTime('UTC')
)
ORDER BY (fabric, time, sink, target)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
