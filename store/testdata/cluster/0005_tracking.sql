ALTER TABLE `giverny-1`.`regions_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS odds_next    Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS odds_later   Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS growth_links Int32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS trend        Float32 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS odds_next    Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS odds_later   Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS growth_links Int32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS trend        Float32 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`intervals_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS network_next     Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS network_later    Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_begin        DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_end          DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_peak         Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_metrics     Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_from        Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_to          Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_regions     Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_metrics    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_thresholds Array(Float32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_intervals  Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_links      Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_metrics      Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_links        Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_since        Array(DateTime64(9, 'UTC')) CODEC(Delta, ZSTD(1));

ALTER TABLE `giverny-1`.`intervals` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS network_next     Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS network_later    Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_begin        DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_end          DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rce_peak         Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_metrics     Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_from        Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_to          Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS move_regions     Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_metrics    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_thresholds Array(Float32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_intervals  Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS spell_links      Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_metrics      Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_links        Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hot_since        Array(DateTime64(9, 'UTC')) CODEC(Delta, ZSTD(1));

CREATE TABLE IF NOT EXISTS `giverny-1`.`analysis_states_local` ON CLUSTER `two shards`
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    state         String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS index_granularity = 8, fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS `giverny-1`.`analysis_states` ON CLUSTER `two shards` AS `giverny-1`.`analysis_states_local`
ENGINE = Distributed('two shards', 'giverny-1', 'analysis_states_local', cityHash64(fabric));

