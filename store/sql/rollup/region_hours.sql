-- The regions of an hour that were tracked.
SELECT r.graph_version AS graph_version, c.hour AS hour, toString(r.metric) AS metric, r.region_id AS region_id, max(r.severity) AS severity, min(r.time) AS first, max(r.time) AS last,
    argMax(c.duration_ms, r.time) AS last_ms, count() AS intervals, max(r.size) AS max_size, max(r.mean) AS max_mean, arraySort(groupUniqArrayArray(r.links)) AS links
FROM (SELECT time, graph_version, revision, metric, region_id, severity, size, mean, links FROM regions WHERE fabric = {fabric:String} AND region_id != 0 AND {{counted}}) AS r
INNER JOIN (SELECT time, graph_version, revision, hour, duration_ms FROM stale WHERE counts) AS c ON c.time = r.time AND c.graph_version = r.graph_version AND c.revision = r.revision
GROUP BY graph_version, hour, metric, region_id
