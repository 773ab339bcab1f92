-- Jobs that ended in a span, as they were stored last, with their devices, between which
-- are characters 0.
SELECT job_id, name, toUnixTimestamp64Nano(start) AS began, toUnixTimestamp64Nano(end) AS ended, length(nodes) AS size, arrayStringConcat(nodes, '\0') AS devices
FROM
(
    SELECT job_id, name, start, end, nodes
    FROM jobs
    WHERE fabric = {fabric:String} AND start < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        AND (job_id, start) IN
        (
            SELECT job_id, start FROM jobs
            WHERE fabric = {fabric:String} AND end >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND end < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        )
    ORDER BY start, job_id, stored_at DESC, interval_start DESC, revision DESC
    LIMIT 1 BY start, job_id
)
WHERE end >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND end < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND end > start
ORDER BY start, job_id
LIMIT {limit:UInt64}
