-- n regions, once per interval, of severity x with a mean of y tenths of a percent.
SELECT r.graph_version AS graph_version, c.hour AS hour, toString(r.metric) AS metric, toInt64(r.severity) AS x, toInt64(round(r.mean * 10)) AS y,
    count() AS n, 0 AS total, 0 AS other
FROM (SELECT time, graph_version, revision, metric, severity, mean FROM regions WHERE fabric = {fabric:String} AND {{counted}}) AS r
INNER JOIN (SELECT time, graph_version, revision, hour, duration_ms FROM stale WHERE counts) AS c ON c.time = r.time AND c.graph_version = r.graph_version AND c.revision = r.revision
GROUP BY graph_version, hour, metric, x, y
