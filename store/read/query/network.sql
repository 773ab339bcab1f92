-- The state of the network by all metrics together, interval by interval: the worst
-- state, and the number of regions by severity.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT time, max(toUInt8(state)) AS severity, sumForEach(regions) AS regions
FROM network_states
WHERE fabric = {fabric:String} AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY time
ORDER BY time
