-- n intervals with total milliseconds of link time, in other milliseconds, x of them
-- with a state that is not known.
SELECT graph_version, hour, '' AS metric, countIf(blind) AS x, 0 AS y, count() AS n, sum(links * duration_ms) AS total, sum(duration_ms) AS other
FROM stale
WHERE counts
GROUP BY graph_version, hour
