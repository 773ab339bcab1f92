-- The state of the analysis is kept by stage: a row is the state of one stage, and
-- all rows of an interval are written at once. form is the version of the stage's
-- own encoding. What was stored before this step is the state of all stages
-- together, without the length of its interval (0).
ALTER TABLE analysis_states
    ADD COLUMN IF NOT EXISTS stage       LowCardinality(String) DEFAULT 'all',
    ADD COLUMN IF NOT EXISTS form        UInt32 DEFAULT 1 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS duration_ms UInt32 DEFAULT 0 CODEC(ZSTD(1));
