-- Monet, figure 5c, added up from what was counted interval by interval: regions
-- that were in one state and then in another, of one metric, or of all if it is
-- empty. Unlike region_transitions it knows gaps and merges from ends and births,
-- and reads one row per interval.
SELECT state_from, state_to, sum(n) AS regions
FROM intervals
ARRAY JOIN move_metrics AS metric, move_from AS state_from, move_to AS state_to, move_regions AS n
WHERE fabric = {fabric:String} AND ({metric:String} = '' OR metric = {metric:String})
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY state_from, state_to
ORDER BY state_from, state_to
