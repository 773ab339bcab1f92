-- The regions congestion events (RCE) that were on, by their begin x, in milliseconds. Without a
-- metric: n intervals, the event's end y and the mean of its worst region, other, as the
-- analysis found them; by a metric: n regions, once per interval, total of their
-- means, and the highest of those, other.
WITH on AS
    (
        SELECT time, graph_version, revision, toUnixTimestamp64Milli(rce_begin) AS begun, toUnixTimestamp64Milli(rce_end) AS ended, toFloat64(rce_peak) AS peak, hour
        FROM stale
        WHERE counts AND rce_begin != toDateTime64(0, 9, 'UTC')
    )
SELECT graph_version, hour, '' AS metric, begun AS x, max(ended) AS y, count() AS n, 0 AS total, max(peak) AS other
FROM on
GROUP BY graph_version, hour, x
UNION ALL
SELECT r.graph_version AS graph_version, o.hour AS hour, toString(r.metric) AS metric, o.begun AS x, 0 AS y, count() AS n, sum(r.mean) AS total, max(r.mean) AS other
FROM (SELECT time, graph_version, revision, metric, mean FROM regions WHERE fabric = {fabric:String} AND {{counted}}) AS r
INNER JOIN on AS o ON o.time = r.time AND o.graph_version = r.graph_version AND o.revision = r.revision
WHERE toUnixTimestamp64Milli(o.time) < o.ended
GROUP BY graph_version, hour, metric, x
