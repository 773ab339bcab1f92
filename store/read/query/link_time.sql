-- Monet, figure 5c, the boxes: the time that links spend in regions of each severity,
-- and (-1) all link time; what is left is Neg.
SELECT toInt8(x) AS severity, sum(total) AS link_ms
FROM {{.Counts "region_size"}}
WHERE metric = {metric:String} AND x > 0
GROUP BY severity
UNION ALL
SELECT toInt8(-1) AS severity, sum(total) AS link_ms
FROM {{.Counts "link_time"}}
