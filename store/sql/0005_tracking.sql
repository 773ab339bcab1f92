-- What is known of regions over time. An interval stored before this step has
-- empty arrays and zeros.
--
-- Where a region is heading: probabilities in 250ths of Neg, Low, Medium, High
-- and that no region has its identity, in the next interval and in five.
ALTER TABLE regions
    ADD COLUMN IF NOT EXISTS odds_next    Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS odds_later   Array(UInt8) CODEC(ZSTD(1)),
    -- links gained, and rise of the mean in percent of time, per interval
    ADD COLUMN IF NOT EXISTS growth_links Int32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS trend        Float32 CODEC(ZSTD(1));

-- The network's outlook, likewise; the regions congestion event (RCE) that is on,
-- 1970 if none is: its begin, the end of its last interval with a High region, and
-- the mean of its worst region.
--
-- moves: regions that were `from` in the interval before and are `to` in this one,
-- by metric (0 Neg, 1 Low, 2 Medium, 3 High, 4 not there).
-- spells: links whose time at or above a threshold (percent of time) has ended
-- after so many intervals, by metric.
-- hot: the links that have been hot for longest, by metric.
ALTER TABLE intervals
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

-- What the analysis has learned up to an interval that is stored in full, for the
-- next process. Its form is the program's own; a row is whole or not there.
CREATE TABLE IF NOT EXISTS analysis_states
(
    fabric        LowCardinality(String),
    time          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    graph_version UInt64 CODEC(ZSTD(1)),
    state         String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC') CODEC(ZSTD(1))
)
PARTITION BY toYYYYMM(time)
ORDER BY (fabric, time)
SETTINGS index_granularity = 8, fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
