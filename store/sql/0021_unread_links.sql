-- Of a region, the number of links that are in it, or were when they were last
-- measured, and have no reading in the interval; 0 in what was stored before this step.
ALTER TABLE regions ADD COLUMN IF NOT EXISTS unread UInt32 DEFAULT 0 CODEC(ZSTD(1));
