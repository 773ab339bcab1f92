-- The diagnoses of the intervals that start in a span, of one region or (0) of all,
-- the newest if there are more than so many.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT time, document
FROM diagnoses
WHERE fabric = {fabric:String} AND ({id:UInt64} = 0 OR region_id = {id:UInt64}) AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time DESC, rank DESC
LIMIT {limit:UInt64}
