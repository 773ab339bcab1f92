-- The links of a version of the graph with the highest mean of a metric over a span,
-- of those that were measured at all.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT toUInt32(512 * block + i - 1) AS link, assumeNotNull(m) AS mean, assumeNotNull(x) AS max
FROM
(
    SELECT block,
        arrayConcat(arrayMap(p -> p / 100, avgForEach(percents)), avgForEach(rates)) AS means,
        arrayConcat(arrayMap(p -> p / 100, maxForEach(percents)), arrayMap(r -> toFloat64(r), maxForEach(rates))) AS maxima
    FROM link_samples
    WHERE fabric = {fabric:String} AND metric = {metric:String}
        AND graph_version = {version:UInt64} AND (time, graph_version, revision) IN current
        AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    GROUP BY block
)
ARRAY JOIN means AS m, maxima AS x, arrayEnumerate(means) AS i
WHERE isNotNull(m)
ORDER BY mean DESC, link
LIMIT {n:UInt32}
