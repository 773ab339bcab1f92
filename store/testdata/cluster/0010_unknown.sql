ALTER TABLE `giverny-1`.`intervals_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS unknown       LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS unknown_since DateTime64(3, 'UTC') CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`intervals` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS unknown       LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS unknown_since DateTime64(3, 'UTC') CODEC(ZSTD(1));

