-- Monet, figure 5b: for how long regions live, by the highest severity that they
-- reach. A region counts once; what was before and after the span does not count.
-- A bucket holds durations from its own number of minutes to below twice that;
-- below a minute it is 0.
WITH current AS
    (
        SELECT time, graph_version, revision, duration_ms FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT severity, toUInt64(roundToExp2(intDiv(life_ms, 60000))) AS bucket, count() AS regions
FROM
(
    SELECT r.region_id AS id, max(r.severity) AS severity,
        dateDiff('millisecond', min(r.time), max(r.time)) + argMax(c.duration_ms, r.time) AS life_ms
    FROM regions AS r
    INNER JOIN current AS c ON c.time = r.time AND c.graph_version = r.graph_version AND c.revision = r.revision
    WHERE r.fabric = {fabric:String} AND r.metric = {metric:String} AND r.region_id != 0
        AND r.time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND r.time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    GROUP BY id
)
GROUP BY severity, bucket
ORDER BY severity, bucket
