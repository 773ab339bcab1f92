-- One metric of one link of a version of the graph over a span; no row where it was
-- not measured.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT time, if(empty(rates), percents[{element:UInt32}] / 100, toFloat64(rates[{element:UInt32}])) AS value
FROM link_samples
WHERE fabric = {fabric:String} AND metric = {metric:String} AND block = {block:UInt32}
    AND graph_version = {version:UInt64} AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND isNotNull(value)
ORDER BY time
