-- The links of a version of the graph with the highest mean of a metric over a span,
-- of those that were measured at all.
SELECT toUInt32(512 * block + i - 1) AS link, s / k AS mean, x AS max
FROM
(
    SELECT block, counts, arrayConcat(arrayMap(p -> p / 100, percents), rates) AS sums, arrayConcat(arrayMap(p -> p / 100, percent_peaks), arrayMap(r -> toFloat64(r), rate_peaks)) AS peaks
    FROM
    (
        SELECT block, sumForEach(measured) AS counts, sumForEach(percent_sums) AS percents, maxForEach(percent_maxima) AS percent_peaks,
            sumForEach(arrayMap((r, k) -> toFloat64(r) * k, rate_averages, arrayResize(measured, length(rate_averages)))) AS rates, maxForEach(rate_maxima) AS rate_peaks
        FROM {{.LinkDays}}
        WHERE graph_version = {version:UInt64}
        GROUP BY block
    )
)
ARRAY JOIN counts AS k, sums AS s, peaks AS x, arrayEnumerate(counts) AS i
WHERE k > 0
ORDER BY mean DESC, link
LIMIT {n:UInt32}
