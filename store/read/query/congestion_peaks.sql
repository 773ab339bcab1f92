-- Monet, figures 10a and 10b: of each regions congestion event the mean over its regions,
-- each once per interval, and the highest mean of one, by a metric.
SELECT fromUnixTimestamp64Milli(x, 'UTC') AS begin, sum(total) / sum(n) AS mean, max(other) AS highest
FROM {{.Counts "congestion"}}
WHERE metric = {metric:String}
GROUP BY x
ORDER BY x
