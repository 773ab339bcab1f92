ALTER TABLE `giverny-1`.`command_results_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS verified LowCardinality(String) DEFAULT '';

ALTER TABLE `giverny-1`.`command_results` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS verified LowCardinality(String) DEFAULT '';

ALTER TABLE `giverny-1`.`regions_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS root_peer String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_kind LowCardinality(String) CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS root_peer String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_kind LowCardinality(String) CODEC(ZSTD(1));

