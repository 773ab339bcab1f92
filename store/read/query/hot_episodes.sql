-- Monet, figure 3: for how long links stayed at or above each configured threshold,
-- from the episodes that ended in each interval. A link that is unmeasured for a
-- short gap stays hot; an episode counts where it ends, with all its time. The time
-- is from the first to the last interval, so that one seen once lasts 0, as in the
-- paper.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT toFloat64(threshold) AS level, sum(n) AS episodes, quantilesExactWeighted(0.5, 0.99, 0.999)((toInt64(spell) - 1) * toInt64(duration_ms), n) AS durations_ms
FROM intervals
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold, spell_intervals AS spell, spell_links AS n
WHERE fabric = {fabric:String} AND metric = {metric:String} AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY level
ORDER BY level
