-- What happened in a span, of the wanted kinds; an empty list wants all. An event is
-- stored with the results of an interval, which may be a later one than its own. What
-- logs say of failures is a table of its own. The newest if there are more than so many.
WITH
    found AS
    (
        SELECT fabric, time, kind, device, port, region_id, job_id, detail, interval_start, graph_version, revision, rank
        FROM events
        WHERE fabric = {fabric:String} AND (empty({kinds:Array(String)}) OR kind IN {kinds:Array(String)})
            AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    ),
    current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String} AND time IN (SELECT interval_start FROM found)
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT fabric, time, kind, device, port, region_id, job_id, detail
FROM
(
    SELECT fabric, time, kind, device, port, region_id, job_id, detail, rank
    FROM found
    WHERE (interval_start, graph_version, revision) IN current
    UNION ALL
    SELECT fabric, time, kind, device, port, 0 AS region_id, '' AS job_id, detail, 0 AS rank
    FROM failures
    WHERE fabric = {fabric:String} AND (empty({kinds:Array(String)}) OR kind IN {kinds:Array(String)})
        AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    ORDER BY time, kind, device, port, detail
    LIMIT 1 BY time, kind, device, port, detail
)
ORDER BY time DESC, rank DESC, kind DESC, device DESC, port DESC, detail DESC
LIMIT {limit:UInt64}
