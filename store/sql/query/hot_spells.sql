-- Monet, figure 3, from the spells that ended in each interval: what
-- hotspot_durations counts from the values, at the thresholds of the configuration,
-- for months in one row per interval. A link that is unmeasured for a short gap
-- stays hot; a spell counts where it ends, with all its time. One seen once lasts 0.
SELECT toFloat64(threshold) AS level, sum(n) AS hotspots, quantilesExactWeighted(0.5, 0.99, 0.999)((toInt64(spell) - 1) * toInt64(duration_ms), n) AS durations_ms
FROM intervals
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold, spell_intervals AS spell, spell_links AS n
WHERE fabric = {fabric:String} AND metric = {metric:String}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY level
ORDER BY level
