-- n diagnoses of a class (metric) of region x, once per interval, y of which accuse a job;
-- total is the sum of the means of the stall.
SELECT d.graph_version AS graph_version, c.hour AS hour, toString(d.class) AS metric, reinterpretAsInt64(d.region_id) AS x, countIf(notEmpty(d.job_ids)) AS y, count() AS n, sum(d.mean) AS total, 0 AS other
FROM (SELECT time, graph_version, revision, class, region_id, job_ids, mean FROM diagnoses WHERE fabric = {fabric:String} AND {{counted}}) AS d
INNER JOIN (SELECT time, graph_version, revision, hour FROM stale WHERE counts) AS c ON c.time = d.time AND c.graph_version = d.graph_version AND c.revision = d.revision
GROUP BY graph_version, hour, metric, x
