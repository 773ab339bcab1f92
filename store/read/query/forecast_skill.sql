-- How good the forecasts were, of what was said and what then happened: the mean
-- Brier score, 0 (perfect) to 2, of the forecasts for so many intervals ahead (1 or
-- 5), beside that of persistence, which says that every region stays as it is.
-- A forecast counts if the intervals up to its own are stored without a gap and have
-- the same length.
--
-- With p the odds and s what became, the score is the sum of p^2 - 2 p[s] + 1.
WITH current AS
    (
        SELECT time, graph_version, revision, duration_ms FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    ),
    {ahead:UInt8} AS ahead,
    outcome_known AS
    (
        SELECT time, graph_version, revision, after
        FROM
        (
            SELECT time, graph_version, revision, duration_ms,
                leadInFrame(time, ahead) OVER (ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS after
            FROM current
        )
        WHERE dateDiff('millisecond', time, after) = ahead * duration_ms
    )
SELECT count() AS forecasts, avg(squares / 62500 - odds[became + 1] / 125 + 1) AS brier, avg(if(became = was, 0, 2)) AS persistence
FROM
(
    SELECT odds, squares, toUInt8(r.severity) AS was, if(later.region_id = 0, 4, toUInt8(later.severity)) AS became
    FROM
    (
        SELECT k.after AS after, x.region_id AS region_id, x.severity AS severity, if(ahead = 1, x.odds_next, x.odds_later) AS odds,
            arraySum(p -> p * p, odds) AS squares
        FROM regions AS x
        INNER JOIN outcome_known AS k ON k.time = x.time AND k.graph_version = x.graph_version AND k.revision = x.revision
        WHERE x.fabric = {fabric:String} AND x.region_id != 0 AND notEmpty(x.odds_next)
            AND x.time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND x.time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS r
    LEFT ANY JOIN
    (
        SELECT time, region_id, severity
        FROM regions
        WHERE fabric = {fabric:String} AND region_id != 0 AND (time, graph_version, revision) IN (SELECT time, graph_version, revision FROM current)
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS later ON later.region_id = r.region_id AND later.time = r.after
)
