-- Monet, figure 5a: how many regions of which size, by severity. A region counts
-- once per interval. A bucket holds sizes from its own to below twice that.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT severity, toUInt64(roundToExp2(size)) AS bucket, count() AS regions
FROM regions
WHERE fabric = {fabric:String} AND metric = {metric:String} AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY severity, bucket
ORDER BY severity, bucket
