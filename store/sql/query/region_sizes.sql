-- Monet, figure 5a: how many regions of which size, by severity. A region counts
-- once per interval. A bucket holds sizes from its own to below twice that.
SELECT severity, toUInt64(roundToExp2(size)) AS bucket, count() AS regions
FROM regions
WHERE fabric = {fabric:String} AND metric = {metric:String}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY severity, bucket
ORDER BY severity, bucket
