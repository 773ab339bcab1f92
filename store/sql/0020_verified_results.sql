-- Whether the signature of a result was checked against a key of its agent: 'valid',
-- or 'no keys' where none is known; empty in what was stored before this step.
ALTER TABLE command_results ADD COLUMN IF NOT EXISTS verified LowCardinality(String) DEFAULT '';

-- Of what a region waits for, the device at the other end of the port's link, and how
-- back pressure begins there (incast, slow_receiver, link_capacity, link_down,
-- deadlock); empty where that is not known.
ALTER TABLE regions
    ADD COLUMN IF NOT EXISTS root_peer String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS root_kind LowCardinality(String) CODEC(ZSTD(1));
