-- What the mitigations that began in a span came to, each as it was stored last.
WITH
    found AS
    (
        SELECT time, graph_version, revision, begin, congestion, stall_before, stall_after, alleviated
        FROM mitigations
        WHERE fabric = {fabric:String}
            AND begin >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND begin < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ),
    current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String} AND time IN (SELECT time FROM found)
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT begin, congestion, stall_before, stall_after, alleviated
FROM found
WHERE (time, graph_version, revision) IN current
ORDER BY begin, time DESC
LIMIT 1 BY begin
