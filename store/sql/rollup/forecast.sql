-- Forecasts x intervals ahead (1 or 5), of what was said and what then happened: n of
-- them, the total of their Brier scores, each 0 (perfect) to 2, and of those of
-- persistence (other), which says that every region stays as it is. A forecast
-- counts if the intervals up to its own are stored without a gap and have the same length.
--
-- With p the odds and s what became, the score is the sum of p^2 - 2 p[s] + 1.
WITH
    outcome_known AS
    (
        SELECT time, graph_version, revision, hour, ahead, after
        FROM
        (
            SELECT time, graph_version, revision, hour, counts, duration_ms,
                leadInFrame(time, 1) OVER ahead_of AS one, leadInFrame(time, 5) OVER ahead_of AS five
            FROM stale
            WINDOW ahead_of AS (ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        )
        ARRAY JOIN [1, 5] AS ahead, [one, five] AS after
        WHERE counts AND dateDiff('millisecond', time, after) = ahead * duration_ms
    )
SELECT graph_version, hour, '' AS metric, toInt64(ahead) AS x, 0 AS y, count() AS n, sum(squares / 62500 - odds[became + 1] / 125 + 1) AS total, sum(if(became = was, 0, 2)) AS other
FROM
(
    SELECT r.graph_version AS graph_version, hour, ahead, odds, squares, toUInt8(r.severity) AS was, if(later.region_id = 0, 4, toUInt8(later.severity)) AS became
    FROM
    (
        SELECT k.graph_version AS graph_version, k.hour AS hour, k.ahead AS ahead, k.after AS after, x.region_id AS region_id, x.severity AS severity,
            if(ahead = 1, x.odds_next, x.odds_later) AS odds, arraySum(p -> p * p, odds) AS squares
        FROM
        (
            SELECT time, graph_version, revision, region_id, severity, odds_next, odds_later
            FROM regions
            WHERE fabric = {fabric:String} AND region_id != 0 AND notEmpty(odds_next) AND {{counted}}
        ) AS x
        INNER JOIN outcome_known AS k ON k.time = x.time AND k.graph_version = x.graph_version AND k.revision = x.revision
    ) AS r
    LEFT ANY JOIN
    (
        SELECT time, region_id, severity
        FROM regions
        WHERE fabric = {fabric:String} AND region_id != 0 AND {{seen}} AND (time, graph_version, revision) IN (SELECT time, graph_version, revision FROM stale)
    ) AS later ON later.region_id = r.region_id AND later.time = r.after
)
GROUP BY graph_version, hour, x
