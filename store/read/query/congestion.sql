-- The regions congestion events (RCE; Monet, section 6) that were on in a span, as
-- the analysis found them.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
SELECT rce_begin AS begin, max(rce_end) AS end, max(rce_peak) AS peak
FROM intervals
WHERE fabric = {fabric:String} AND rce_begin != toDateTime64(0, 9, 'UTC') AND (time, graph_version, revision) IN current
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY begin
ORDER BY begin
