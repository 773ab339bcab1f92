ALTER TABLE `giverny-1`.`regions_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS unread UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS unread UInt32 DEFAULT 0 CODEC(ZSTD(1));

