-- n times the network went from state x to y from one interval to the next, by a metric,
-- or by any (empty). Its state is that of its worst region. Intervals that do not follow
-- each other make no transition, nor do those whose state is not known.
SELECT graph_version, hour, part AS metric, worst AS x, next.2 AS y, count() AS n, 0 AS total, 0 AS other
FROM
(
    SELECT *, leadInFrame((time, worst), 1) OVER (PARTITION BY part ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS next
    FROM
    (
        SELECT c.time AS time, any(c.graph_version) AS graph_version, any(c.hour) AS hour, any(c.duration_ms) AS length_ms, any(c.counts) AS counted, part, max(toInt64(s.state)) AS worst
        FROM (SELECT time, graph_version, revision, metric, state FROM network_states WHERE fabric = {fabric:String} AND {{seen}}) AS s
        INNER JOIN (SELECT time, graph_version, revision, hour, duration_ms, counts FROM stale WHERE unknown = '') AS c ON c.time = s.time AND c.graph_version = s.graph_version AND c.revision = s.revision
        ARRAY JOIN [toString(s.metric), ''] AS part
        GROUP BY time, part
    )
)
WHERE counted AND next.1 > time AND dateDiff('millisecond', time, next.1) <= length_ms
GROUP BY graph_version, hour, metric, x, y
