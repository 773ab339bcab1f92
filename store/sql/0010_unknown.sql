-- Why the state of the network in an interval is not known (nothing_measured,
-- low_coverage), and since when; empty if it is known, and in intervals stored
-- before this step, of which those that measured nothing are read as unknown.
ALTER TABLE intervals
    ADD COLUMN IF NOT EXISTS unknown       LowCardinality(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS unknown_since DateTime64(3, 'UTC') CODEC(ZSTD(1));
