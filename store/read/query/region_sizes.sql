-- Monet, figure 5a: how many regions of which size, by severity. A region counts
-- once per interval. A bucket holds sizes from its own to below twice that.
SELECT toUInt8(x) AS severity, toUInt64(roundToExp2(toUInt64(y))) AS bucket, sum(n) AS regions
FROM {{.Counts "region_size"}}
WHERE metric = {metric:String}
GROUP BY severity, bucket
ORDER BY severity, bucket
