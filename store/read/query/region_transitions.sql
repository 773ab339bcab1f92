-- Monet, figure 5c, added up from what was counted interval by interval: regions
-- that were in one state and then in another, of one metric, or of all if it is
-- empty.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT state_from AS before, state_to AS after, sum(n) AS transitions
FROM intervals
ARRAY JOIN move_metrics AS metric, move_from AS state_from, move_to AS state_to, move_regions AS n
WHERE fabric = {fabric:String} AND ({metric:String} = '' OR metric = {metric:String}) AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY before, after
ORDER BY before, after
