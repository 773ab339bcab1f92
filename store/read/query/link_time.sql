-- Monet, figure 5c, the boxes: the time that links spend in regions of each severity,
-- and (-1) all time in which links were measured by the metric; what is left is Neg. Hours
-- whose states are no longer kept do not count.
SELECT toInt8(x) AS severity, sum(total) AS link_ms
FROM {{.Counts "region_size"}}
WHERE metric = {metric:String} AND x > 0
GROUP BY severity
UNION ALL
SELECT toInt8(-1) AS severity, toFloat64(sum(measured[{metric:String}] * duration_ms)) AS link_ms
FROM
(
    SELECT measured, duration_ms
    FROM intervals
    WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        AND intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 IN (SELECT hour FROM {{.Counts "network_state"}} WHERE metric = {metric:String})
    ORDER BY revision DESC, stored_at DESC
    LIMIT 1 BY time
)
