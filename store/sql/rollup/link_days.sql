-- The links of a day, of its roll-ups by hours.
SELECT graph_version, metric, block, sumForEach(measured) AS intervals, sumForEach(percent_sums) AS sums, maxForEach(percent_maxima) AS maxima,
    arrayMap((r, k) -> reinterpretAsFloat32(bitAnd(reinterpretAsUInt32(toFloat32(if(k = 0, 0, r / k))) + 2048, 4294963200)),
        sumForEach(arrayMap((r, k) -> toFloat64(r) * k, rate_averages, arrayResize(measured, length(rate_averages)))) AS weighted, arrayResize(intervals, length(weighted))) AS averages,
    maxForEach(rate_maxima) AS highest
FROM link_hours
WHERE {{holds}}
GROUP BY graph_version, metric, block
