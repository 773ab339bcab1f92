-- The regions congestion events (RCE) that were on in a span, as they were told
-- when they happened.
SELECT rce_begin AS begin, max(rce_end) AS end, max(rce_peak) AS peak
FROM intervals
WHERE fabric = {fabric:String} AND rce_begin != toDateTime64(0, 9, 'UTC')
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY begin
ORDER BY begin
