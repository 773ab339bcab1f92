-- Monet, section 5.3 and figure 8: congestion mitigation events (CME), throttling
-- events coalesced by a sliding window (210 s in the paper). `end` is the time of
-- the last of them.
WITH
    throttlings AS
    (
        SELECT time, interval_start, graph_version, revision
        FROM events
        WHERE fabric = {fabric:String} AND kind = 'congestion_protection'
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ),
    current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String} AND time IN (SELECT interval_start FROM throttlings)
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT fromUnixTimestamp64Nano(run[1], 'UTC') AS begin, fromUnixTimestamp64Nano(run[-1], 'UTC') AS end, length(run) AS events
FROM
(
    SELECT arrayJoin(arraySplit((t, gap) -> gap > {window_ns:Int64}, times, arrayDifference(times))) AS run
    FROM
    (
        SELECT arraySort(groupUniqArray(toUnixTimestamp64Nano(time))) AS times
        FROM
        (
            SELECT time FROM throttlings
            WHERE (interval_start, graph_version, revision) IN current
            UNION ALL
            SELECT time FROM failures
            WHERE fabric = {fabric:String} AND kind = 'congestion_protection'
                AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        )
    )
    WHERE notEmpty(times)
)
ORDER BY begin
