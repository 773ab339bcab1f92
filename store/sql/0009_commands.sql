-- The audit: every command that was put into Kafka, forged ones too, and what
-- agents have answered. A command is one row by its id and digest, a result one
-- row by command, agent and status.
CREATE TABLE IF NOT EXISTS commands
(
    fabric     LowCardinality(String),
    id         String CODEC(ZSTD(1)),
    -- of the whole command, its signature too: a forged one under the same id is another row
    digest     UInt64,
    kind       LowCardinality(String),
    principal  LowCardinality(String),
    -- 'valid', 'no keys' where the analyser has none, or why the signature is not
    verified   LowCardinality(String),
    targets    Array(String) CODEC(ZSTD(1)),
    arguments  String CODEC(ZSTD(1)),
    issued     DateTime64(9, 'UTC'),
    expires    DateTime64(9, 'UTC'),
    dry_run    Bool,
    signature  String CODEC(ZSTD(1)),
    -- when it was put into Kafka
    seen       DateTime64(9, 'UTC'),
    stored_at  DateTime('UTC')
)
ORDER BY (fabric, id, digest)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS command_results
(
    fabric     LowCardinality(String),
    command_id String CODEC(ZSTD(1)),
    agent      LowCardinality(String),
    status     LowCardinality(String),
    -- by the agent's clock
    time       DateTime64(9, 'UTC'),
    reason     String CODEC(ZSTD(1)),
    output     String CODEC(ZSTD(1)),
    stored_at  DateTime('UTC')
)
ORDER BY (fabric, command_id, agent, status)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
