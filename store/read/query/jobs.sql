-- The jobs that ran at any time of a span, each as it was stored last. A job whose end
-- was never stored is believed to run for so long after it was last heard of and no longer.
-- Of jobs that started earlier than that only those are looked at that may have run.
WITH
    long AS
    (
        SELECT job_id, start
        FROM jobs
        WHERE fabric = {fabric:String} AND start <= fromUnixTimestamp64Nano({oldest:Int64}, 'UTC')
            AND (end > fromUnixTimestamp64Nano({from:Int64}, 'UTC') OR interval_start > fromUnixTimestamp64Nano({oldest:Int64}, 'UTC'))
    ),
    ran AS
    (
        SELECT job_id, start, argMax(end, (stored_at, interval_start, revision)) AS last_end
        FROM jobs
        WHERE fabric = {fabric:String} AND start < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND (start > fromUnixTimestamp64Nano({oldest:Int64}, 'UTC') OR (job_id, start) IN long)
            AND (empty({ids:Array(String)}) OR job_id IN {ids:Array(String)})
        GROUP BY job_id, start
        HAVING last_end > fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            OR toUnixTimestamp64Nano(last_end) = 0 AND greatest(start, toDateTime64(max(interval_start), 9, 'UTC')) > fromUnixTimestamp64Nano({oldest:Int64}, 'UTC')
        ORDER BY start DESC, job_id DESC
        LIMIT {limit:UInt64}
    )
SELECT job_id, name, user, nodes, start, end, state
FROM jobs
WHERE fabric = {fabric:String} AND start < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AND (job_id, start) IN (SELECT job_id, start FROM ran)
ORDER BY start, job_id, stored_at DESC, interval_start DESC, revision DESC
LIMIT 1 BY start, job_id
