ALTER TABLE `giverny-1`.`regions_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS root_device String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_port   LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_link   UInt32 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS root_device String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_port   LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_link   UInt32 CODEC(ZSTD(1));

