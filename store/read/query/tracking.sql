-- What is known over time in one interval.
SELECT network_next, network_later, rce_begin, rce_end, rce_peak, hot_metrics, hot_links, hot_since
FROM intervals
WHERE fabric = {fabric:String} AND time = fromUnixTimestamp64Milli({start:Int64}, 'UTC') AND graph_version = {version:UInt64} AND revision = {revision:UInt32}
LIMIT 1
