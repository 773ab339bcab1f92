-- What is known over time in one interval; in the graph's version stored last.
SELECT network_next, network_later, rce_begin, rce_end, rce_peak, hot_metrics, hot_links, hot_since
FROM intervals
WHERE fabric = {fabric:String} AND time = fromUnixTimestamp64Milli({start:Int64}, 'UTC')
ORDER BY stored_at DESC
LIMIT 1
