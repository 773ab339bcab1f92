-- An interval can be stored again in place, when readings that were late have come,
-- or when a replayed day replaces a broken one. Rows of an interval carry the number
-- of its revision, and the row in `intervals` with the highest one says which of
-- them hold. What was stored before this step is revision 0.
ALTER TABLE link_samples ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE regions ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE network_states ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE events ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE port_readings ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE analysis_states ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE intervals ADD COLUMN IF NOT EXISTS revision UInt32 DEFAULT 0 CODEC(ZSTD(1));
