-- Monet, figure 6: from which state to which the network goes from one interval
-- to the next. Its state is that of its worst region by the metric, or by any if it
-- is empty. Intervals that do not follow each other make no transition, nor do those
-- whose state is not known.
WITH current AS
    (
        SELECT time, graph_version, revision, duration_ms, unknown FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT a.2 AS before, b.2 AS after, count() AS transitions
FROM
(
    SELECT arraySort(groupArray((time, state, duration_ms))) AS states
    FROM
    (
        SELECT s.time AS time, max(toUInt8(s.state)) AS state, any(c.duration_ms) AS duration_ms
        FROM network_states AS s
        INNER JOIN current AS c ON c.time = s.time AND c.graph_version = s.graph_version AND c.revision = s.revision
        WHERE s.fabric = {fabric:String} AND c.unknown = '' AND ({metric:String} = '' OR s.metric = {metric:String})
            AND s.time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND s.time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY time
    )
)
ARRAY JOIN arrayPopBack(states) AS a, arrayPopFront(states) AS b
WHERE dateDiff('millisecond', a.1, b.1) <= a.3
GROUP BY before, after
ORDER BY before, after
