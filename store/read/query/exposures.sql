-- Which regions some jobs had to do with in a span, as the accused or as victims, by
-- the diagnoses. `end` is the start of the last interval.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT job, region_id, toUInt8(max(severity)) AS worst, min(time) AS begin, max(time) AS end,
    uniqExactIf(time, blame >= 0) AS accused, uniqExactIf(time, blame < 0) AS victim, greatest(max(blame), 0) AS max_blame
FROM
(
    SELECT time, region_id, severity, part.1 AS job, part.2 AS blame
    FROM
    (
        SELECT time, region_id, severity, arrayJoin(arrayConcat(arrayMap((j, b) -> (j, b), job_ids, blames), arrayMap(v -> (v, toFloat64(-1)), victim_ids))) AS part
        FROM diagnoses
        WHERE fabric = {fabric:String} AND (hasAny(job_ids, {ids:Array(String)}) OR hasAny(victim_ids, {ids:Array(String)}))
            AND (time, graph_version, revision) IN current
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    )
    WHERE job IN {ids:Array(String)}
)
GROUP BY job, region_id
ORDER BY job, begin, region_id
