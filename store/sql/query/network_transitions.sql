-- Monet, figure 6: from which state to which the network goes from one interval
-- to the next. Its state is that of its worst region by any of the metrics.
-- Intervals that do not follow each other make no transition.
WITH
    (
        SELECT max(duration_ms) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS step
SELECT a.2 AS before, b.2 AS after, count() AS transitions
FROM
(
    SELECT arraySort(groupArray((time, state))) AS states
    FROM
    (
        SELECT time, max(toUInt8(state)) AS state
        FROM network_states
        WHERE fabric = {fabric:String} AND metric IN {metrics:Array(String)}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY time
    )
)
ARRAY JOIN arrayPopBack(states) AS a, arrayPopFront(states) AS b
WHERE dateDiff('millisecond', a.1, b.1) <= step
GROUP BY before, after
ORDER BY before, after
