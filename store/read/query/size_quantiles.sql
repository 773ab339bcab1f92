-- Monet, section 5.1: the sizes of regions by severity, a region once per interval: how
-- many, and half, 99% and all of them have no more links.
SELECT toUInt8(x) AS severity, sum(n) AS regions, quantilesExactWeighted(0.5, 0.99)(toFloat64(y), n) AS quantiles, toFloat64(max(y)) AS highest
FROM {{.Counts "region_size"}}
WHERE metric = {metric:String}
GROUP BY severity
ORDER BY severity
