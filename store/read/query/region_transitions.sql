-- Monet, figure 5c, added up from what was counted interval by interval: regions
-- that were in one state and then in another, of one metric, or of all if it is
-- empty.
SELECT toUInt8(x) AS before, toUInt8(y) AS after, sum(n) AS transitions
FROM {{.Counts "region_transition"}}
WHERE {metric:String} = '' OR metric = {metric:String}
GROUP BY before, after
ORDER BY before, after
