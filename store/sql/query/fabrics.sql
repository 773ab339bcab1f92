-- The fabrics in the store, each with its newest graph: that of the last interval
-- or the last that came into force, whichever is later.
SELECT fabric, argMax(graph_version, at) AS graph_version
FROM
(
    SELECT fabric, graph_version, valid_from AS at FROM fabrics
    UNION ALL
    SELECT fabric, graph_version, toDateTime64(time, 9, 'UTC') AS at FROM intervals
)
GROUP BY fabric
ORDER BY fabric
