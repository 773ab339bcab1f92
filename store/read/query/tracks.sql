-- Each region of the intervals that start in a span once, of a metric or (empty) of
-- all, that was of a severity or a higher one; the worst first.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT region_id, toString(any(metric)) AS of_metric, argMax(name, time) AS label, min(time) AS first_seen, max(time) AS last_seen, count() AS seen,
    max(toUInt8(severity)) AS worst, max(size) AS most_links, max(mean) AS peak_mean
FROM regions
WHERE fabric = {fabric:String} AND region_id != 0 AND (time, graph_version, revision) IN current
    AND ({metric:String} = '' OR metric = {metric:String})
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY region_id
HAVING worst >= {least:UInt8}
ORDER BY worst DESC, peak_mean DESC, region_id
LIMIT {limit:UInt64}
