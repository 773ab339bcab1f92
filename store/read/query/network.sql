-- The state of the network by all metrics together, interval by interval: the worst
-- state, the number of regions by severity, its length, and why the state is not known; empty
-- if it is. Intervals whose states are no longer kept are left out.
WITH current AS
    (
        SELECT time, graph_version, revision, duration_ms, if(unknown = '' AND arraySum(mapValues(measured)) = 0, 'nothing_measured', toString(unknown)) AS reason
        FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT c.time AS time, any(c.duration_ms) AS length_ms, any(c.reason) AS reason, max(toUInt8(s.state)) AS severity, sumForEach(s.regions) AS regions
FROM current AS c
LEFT JOIN
(
    SELECT time, graph_version, revision, state, regions
    FROM network_states
    WHERE fabric = {fabric:String}
        AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
) AS s ON s.time = c.time AND s.graph_version = c.graph_version AND s.revision = c.revision
WHERE c.reason != '' OR notEmpty(s.regions)
GROUP BY time
ORDER BY time
