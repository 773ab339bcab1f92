ALTER TABLE `giverny-1`.`analysis_states_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS stage       LowCardinality(String) DEFAULT 'all',
    ADD COLUMN IF NOT EXISTS form        UInt32 DEFAULT 1 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS duration_ms UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`analysis_states` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS stage       LowCardinality(String) DEFAULT 'all',
    ADD COLUMN IF NOT EXISTS form        UInt32 DEFAULT 1 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS duration_ms UInt32 DEFAULT 0 CODEC(ZSTD(1));

