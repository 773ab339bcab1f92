-- How good the forecasts were, of what was said and what then happened: the mean
-- Brier score, 0 (perfect) to 2, of the forecasts for so many intervals ahead (1 or
-- 5), beside that of persistence, which says that every region stays as it is.
-- Forecasts across an interval that is not stored do not count.
--
-- With p the odds and s what became, the score is the sum of p^2 - 2 p[s] + 1.
WITH
    {ahead:UInt8} AS ahead,
    (
        SELECT max(duration_ms) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS step
SELECT count() AS forecasts, avg(squares / 62500 - odds[became + 1] / 125 + 1) AS brier, avg(if(became = was, 0, 2)) AS persistence
FROM
(
    SELECT odds, squares, toUInt8(r.severity) AS was, if(later.region_id = 0, 4, toUInt8(later.severity)) AS became
    FROM
    (
        SELECT time + toIntervalMillisecond(ahead * step) AS after, region_id, severity, if(ahead = 1, odds_next, odds_later) AS odds,
            arraySum(p -> p * p, odds) AS squares
        FROM regions
        WHERE fabric = {fabric:String} AND region_id != 0 AND notEmpty(odds_next)
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
            AND time IN
            (
                SELECT time
                FROM
                (
                    SELECT time, leadInFrame(time, ahead) OVER (ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS after
                    FROM
                    (
                        SELECT DISTINCT time FROM intervals
                        WHERE fabric = {fabric:String}
                            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
                    )
                )
                WHERE dateDiff('millisecond', time, after) = ahead * step
            )
    ) AS r
    LEFT ANY JOIN
    (
        SELECT time, region_id, severity
        FROM regions
        WHERE fabric = {fabric:String} AND region_id != 0
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS later ON later.region_id = r.region_id AND later.time = r.after
)
