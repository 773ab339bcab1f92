-- Diagnosed collectives of jobs (giverny collective publish), one row each time that a
-- run is published; of a run the newest counts. Times of the run are nanoseconds, its
-- costs nanoseconds of its makespan.
CREATE TABLE IF NOT EXISTS collective_runs
(
    fabric        LowCardinality(String),
    job_id        String CODEC(ZSTD(1)),
    -- of the job and its begin
    run_id        String CODEC(ZSTD(1)),
    -- who published it, and when
    agent         LowCardinality(String),
    time          DateTime64(9, 'UTC'),
    -- first begin and last end of a step
    begin         DateTime64(9, 'UTC'),
    end           DateTime64(9, 'UTC'),
    format        LowCardinality(String),
    ranks         UInt32,
    iterations    UInt32,
    makespan_ns   Int64,
    -- the makespan without the culprits
    expected_ns   Int64,
    -- the culprits, those that cost most first
    classes       Array(LowCardinality(String)),
    flows         Array(String) CODEC(ZSTD(1)),
    objects       Array(String) CODEC(ZSTD(1)),
    costs_ns      Array(Int64),
    confidences   Array(Float32),
    stopped_ranks Array(UInt32),
    -- one for people
    text          String CODEC(ZSTD(1)),
    -- JSON: the whole report
    document      String CODEC(ZSTD(3)),
    stored_at     DateTime('UTC')
)
ORDER BY (fabric, begin, run_id, time)
SETTINGS index_granularity = 64,
    fsync_after_insert = 1, fsync_part_directory = 1,
    non_replicated_deduplication_window = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
