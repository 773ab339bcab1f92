-- Monet, figure 6: from which state to which the network goes from one interval
-- to the next. Its state is that of its worst region by the metric, or by any if it
-- is empty. Intervals that do not follow each other make no transition, nor do those
-- whose state is not known.
SELECT toUInt8(x) AS before, toUInt8(y) AS after, sum(n) AS transitions
FROM {{.Counts "network_transition"}}
WHERE metric = {metric:String}
GROUP BY before, after
ORDER BY before, after
