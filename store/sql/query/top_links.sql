-- The links with the highest mean of a metric over a span, of those that were
-- measured at all.
SELECT toUInt32(512 * block + i - 1) AS link, assumeNotNull(m) AS mean, assumeNotNull(x) AS max
FROM
(
    SELECT block,
        arrayConcat(arrayMap(p -> p / 100, avgForEach(percents)), avgForEach(rates)) AS means,
        arrayConcat(arrayMap(p -> p / 100, maxForEach(percents)), arrayMap(r -> toFloat64(r), maxForEach(rates))) AS maxima
    FROM link_samples
    WHERE fabric = {fabric:String} AND metric = {metric:String}
        AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    GROUP BY block
)
ARRAY JOIN means AS m, maxima AS x, arrayEnumerate(means) AS i
WHERE isNotNull(m)
ORDER BY mean DESC, link
LIMIT {n:UInt32}
