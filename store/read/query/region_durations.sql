-- Monet, figure 5b: for how long regions live, by the highest severity that they
-- reach. A region counts once; what was before and after the span does not count.
-- A bucket holds durations from its own number of minutes to below twice that;
-- below a minute it is 0.
SELECT worst AS severity, toUInt64(roundToExp2(toUInt64(intDiv(life_ms, 60000)))) AS bucket, count() AS regions
FROM
(
    SELECT region_id, toUInt8(max(severity)) AS worst, dateDiff('millisecond', min(first), max(last)) + argMax(last_ms, last) AS life_ms
    FROM {{.RegionHours}}
    WHERE metric = {metric:String}
    GROUP BY region_id
)
GROUP BY severity, bucket
ORDER BY severity, bucket
