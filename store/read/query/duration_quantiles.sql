-- Monet, section 5.1: the lives of regions, in minutes, by the highest severity that they
-- reach, as in figure 5b: how many, and half, 99% and all of them are no longer.
SELECT worst AS severity, count() AS regions, quantilesExactLow(0.5, 0.99)(life_ms / 60000) AS quantiles, max(life_ms) / 60000 AS highest
FROM
(
    SELECT region_id, toUInt8(max(severity)) AS worst, dateDiff('millisecond', min(first), max(last)) + argMax(last_ms, last) AS life_ms
    FROM {{.RegionHours}}
    WHERE metric = {metric:String}
    GROUP BY region_id
)
GROUP BY severity
ORDER BY severity
