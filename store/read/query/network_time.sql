-- Monet, figure 6, the boxes: in how many intervals, and for how long, the network was in
-- each state by the metric, or by any if it is empty; -1: not known.
SELECT toInt8(x) AS state, sum(n) AS intervals, sum(total) AS total_ms
FROM {{.Counts "network_state"}}
WHERE metric = {metric:String}
GROUP BY state
ORDER BY state
