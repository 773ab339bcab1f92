-- Monet, section 5.3 and figure 10: regions congestion events (RCE), stretches of
-- time with a High region in every sliding window (5 minutes in
-- the paper): High intervals that start at most the window apart belong to one
-- event. mean and max are over all regions of a metric during the event, by
-- metric.
WITH
    (
        SELECT max(duration_ms) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS step
SELECT begin, end, sum(n) AS regions,
    mapFromArrays(groupArray(metric), groupArray(metric_mean)) AS mean,
    mapFromArrays(groupArray(metric), groupArray(metric_max)) AS max
FROM
(
    SELECT e.begin AS begin, e.end AS end, r.metric AS metric, count() AS n, avg(r.mean) AS metric_mean, max(r.max) AS metric_max
    FROM regions AS r
    ASOF INNER JOIN
    (
        SELECT fabric, arrayJoin(arraySplit((t, gap) -> gap > {window_ms:UInt32}, times, arrayDifference(times))) AS run,
            fromUnixTimestamp64Milli(run[1], 'UTC') AS begin, fromUnixTimestamp64Milli(run[-1] + step, 'UTC') AS end
        FROM
        (
            SELECT fabric, arraySort(groupUniqArray(toUnixTimestamp64Milli(time))) AS times
            FROM regions
            WHERE fabric = {fabric:String} AND severity = 'High' AND metric IN {metrics:Array(String)}
                AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
            GROUP BY fabric
        )
    ) AS e ON r.fabric = e.fabric AND r.time >= e.begin
    WHERE r.fabric = {fabric:String} AND r.metric IN {metrics:Array(String)} AND r.time < e.end
        AND r.time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND r.time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    GROUP BY begin, end, metric
)
GROUP BY begin, end
ORDER BY begin
