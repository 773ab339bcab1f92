-- n regions that were in state x in the interval before and in y in this one, as
-- the analysis counted them.
SELECT graph_version, hour, toString(part) AS metric, toInt64(a) AS x, toInt64(b) AS y, sum(k) AS n, 0 AS total, 0 AS other
FROM stale
ARRAY JOIN move_metrics AS part, move_from AS a, move_to AS b, move_regions AS k
WHERE counts
GROUP BY graph_version, hour, metric, x, y
