-- The metrics by which the network had a state in a span, and in how many intervals.
SELECT metric, sum(n) AS intervals
FROM {{.Counts "network_state"}}
WHERE metric != ''
GROUP BY metric
ORDER BY metric
