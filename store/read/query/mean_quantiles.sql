-- Monet, section 5.1: the means of regions at Low or above, in percent of time, a region
-- once per interval, to a tenth.
SELECT sum(n) AS regions, quantilesExactWeighted(0.5, 0.99)(y / 10, n) AS quantiles, max(y) / 10 AS highest
FROM {{.Counts "region_mean"}}
WHERE metric = {metric:String} AND x > 0
HAVING regions > 0
