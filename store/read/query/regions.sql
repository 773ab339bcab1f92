-- The regions of the intervals that start in a span, of a metric or (empty) of all, of a
-- severity or a higher one, the newest if there are more than so many.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT time, graph_version, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, unread,
    unhex(arrayStringConcat(arrayMap(link -> hex(reinterpretAsFixedString(link)), links))) AS packed_links,
    odds_next, odds_later, growth_links, trend, root_device, root_port, root_link, root_peer, root_kind
FROM regions
WHERE fabric = {fabric:String} AND (time, graph_version, revision) IN current
    AND ({metric:String} = '' OR metric = {metric:String}) AND toUInt8(severity) >= {least:UInt8}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time DESC, rank DESC
LIMIT {limit:UInt64}
