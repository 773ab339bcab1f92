-- Monet, figure 5c, the boxes: the share of all link time that is spent in
-- regions of each severity; what is left is Neg.
WITH current AS
    (
        SELECT time, graph_version, revision, duration_ms, links FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT r.severity AS severity, sum(r.size * c.duration_ms) / (SELECT sum(links * duration_ms) FROM current) AS share
FROM regions AS r
INNER JOIN current AS c ON c.time = r.time AND c.graph_version = r.graph_version AND c.revision = r.revision
WHERE r.fabric = {fabric:String} AND r.metric = {metric:String} AND r.severity != 'Neg'
    AND r.time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND r.time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY severity
ORDER BY severity
