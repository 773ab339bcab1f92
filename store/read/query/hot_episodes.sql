-- Monet, figure 3: for how long links stayed at or above each configured threshold,
-- from the episodes that ended in each interval. A link that is unmeasured for a
-- short gap stays hot; an episode counts where it ends, with all its time. The time
-- is from the first to the last interval, so that one seen once lasts 0, as in the
-- paper.
SELECT x / 100 AS level, sum(n) AS episodes, quantilesExactWeighted(0.5, 0.99, 0.999)(y, n) AS durations_ms
FROM {{.Counts "hot_episode"}}
WHERE metric = {metric:String}
GROUP BY level
ORDER BY level
