-- The state of the network by each metric, interval by interval.
SELECT time, metric, state, regions, region_links, coverage
FROM network_states
WHERE fabric = {fabric:String}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time, metric
