-- Monet, figure 3: for how long a link stays at or above a threshold. A hotspot
-- is a run of consecutive intervals of one link; its duration is the time from
-- the first to the last of them, so that one seen once lasts 0, as in the paper.
-- An interval without a value ends the run.
WITH
    {thresholds:Array(Float64)} AS levels,
    (
        SELECT max(duration_ms) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS step
SELECT level, count() AS hotspots, quantilesExact(0.5, 0.99, 0.999)(run[-1] - run[1]) AS durations_ms
FROM
(
    SELECT level, arrayJoin(arraySplit((t, gap) -> gap > step, times, arrayDifference(times))) AS run
    FROM
    (
        SELECT arrayJoin(levels) AS level, arrayMap(s -> s.1, arrayFilter(s -> s.2 >= level, samples)) AS times
        FROM
        (
            SELECT arraySort(groupArray((toUnixTimestamp64Milli(time), value))) AS samples
            FROM
            (
                SELECT time, block, s.1 AS element, assumeNotNull(s.2) / 100 AS value
                FROM link_samples
                ARRAY JOIN arrayFilter(s -> s.2 >= 100 * arrayMin(levels), arrayZip(arrayEnumerate(percents), percents)) AS s
                WHERE fabric = {fabric:String} AND metric = {metric:String}
                    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
            )
            GROUP BY block, element
        )
    )
    WHERE notEmpty(times)
)
GROUP BY level
ORDER BY level
