-- The regions congestion events (RCE; Monet, section 6) that were on in a span, as
-- the analysis found them.
SELECT fromUnixTimestamp64Milli(x, 'UTC') AS begin, fromUnixTimestamp64Milli(max(y), 'UTC') AS end, toFloat32(max(other)) AS peak
FROM {{.Counts "congestion"}}
WHERE metric = ''
GROUP BY x
ORDER BY x
