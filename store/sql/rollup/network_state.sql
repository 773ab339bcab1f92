-- n intervals, and total milliseconds, in which the network was in state x by a metric,
-- or by any (empty); x is -1 where the state is not known. Intervals whose states are no longer
-- kept do not count.
SELECT graph_version, hour, part AS metric, if(unseen, -1, worst) AS x, 0 AS y, count() AS n, sum(length_ms) AS total, 0 AS other
FROM
(
    SELECT c.time AS time, any(c.graph_version) AS graph_version, any(c.hour) AS hour, any(c.duration_ms) AS length_ms, any(c.blind) AS unseen, part, max(toInt64(s.state)) AS worst
    FROM (SELECT time, graph_version, revision, hour, duration_ms, blind FROM stale WHERE counts) AS c
    LEFT JOIN
    (
        SELECT time, graph_version, revision, toString(metric) AS metric, toUInt8(state) AS state
        FROM network_states
        WHERE fabric = {fabric:String} AND {{counted}}
    ) AS s ON s.time = c.time AND s.graph_version = c.graph_version AND s.revision = c.revision
    ARRAY JOIN arrayDistinct([s.metric, '']) AS part
    WHERE c.blind OR s.metric != ''
    GROUP BY time, part
)
GROUP BY graph_version, hour, metric, x
