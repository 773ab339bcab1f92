-- Monet, figure 5c: from which severity to which a region goes from one interval
-- to the next. A region that is not there is Neg: it comes from Neg when it is
-- born and goes to Neg when it ends, except at the edges of the span, beyond
-- which nothing is known.
WITH
    (
        SELECT (min(time), max(time), max(duration_ms)) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS span
SELECT pair.1 AS before, pair.2 AS after, count() AS transitions
FROM
(
    SELECT arrayJoin(arrayConcat(
        if(life[1].1 > span.1, [(0, life[1].2)], []),
        arrayFlatten(arrayMap((a, b) -> if(dateDiff('millisecond', a.1, b.1) <= span.3, [(a.2, b.2)], [(a.2, 0), (0, b.2)]),
            arrayPopBack(life), arrayPopFront(life))),
        if(life[-1].1 < span.2, [(life[-1].2, 0)], []))) AS pair
    FROM
    (
        SELECT arraySort(groupArray((time, toUInt8(severity)))) AS life
        FROM regions
        WHERE fabric = {fabric:String} AND metric = {metric:String} AND region_id != 0
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY region_id
    )
)
GROUP BY before, after
ORDER BY before, after
