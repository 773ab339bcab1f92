-- The links of a block by so many seconds.
SELECT graph_version, intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS hour, metric, block,
    intDiv(toUnixTimestamp64Milli(time), 1000 * {bucket:Int64}) * {bucket:Int64} AS begin,
    arrayMap((p, r) -> toUInt16(p + r), arrayResize(countForEach(percents), size), arrayResize(countForEach(rates), size)) AS measured,
    arrayMap(p -> toUInt32(ifNull(p, 0)), sumForEach(percents)) AS percent_sums,
    arrayMap(p -> toUInt16(ifNull(p, 0)), maxForEach(percents)) AS percent_maxima,
    arrayMap(r -> reinterpretAsFloat32(bitAnd(reinterpretAsUInt32(toFloat32(ifNull(r, 0))) + 2048, 4294963200)), avgForEach(rates)) AS rate_averages,
    arrayMap(r -> toFloat32(ifNull(r, 0)), maxForEach(rates)) AS rate_maxima,
    max(greatest(length(percents), length(rates))) AS size
FROM link_samples
WHERE fabric = {fabric:String} AND {{links}} AND {{counted}} AND (time, graph_version, revision) IN (SELECT time, graph_version, revision FROM stale WHERE counts)
GROUP BY graph_version, hour, metric, block, begin
