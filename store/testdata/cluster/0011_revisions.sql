ALTER TABLE `giverny-1`.`link_samples_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`link_samples` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`regions` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`network_states_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`network_states` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`events_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`events` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`port_readings_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`port_readings` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`analysis_states_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`analysis_states` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`intervals_local` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

ALTER TABLE `giverny-1`.`intervals` ON CLUSTER `two shards`
    ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));

