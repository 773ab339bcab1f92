-- What a region waits for: the port of a switch that cannot send on what it is
-- brought, and the link that leaves it. An interval stored before this step, and a
-- region that has no one root, has an empty device.
ALTER TABLE regions
    ADD COLUMN IF NOT EXISTS root_device String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_port   LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_link   UInt32 CODEC(ZSTD(1));
