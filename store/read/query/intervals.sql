-- The stored intervals that start in a span. One that was stored under two versions
-- of the graph counts once, as it was stored last; so it is in every query here
-- that has `current`.
SELECT time, duration_ms, graph_version, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at, unknown, unknown_since
FROM intervals
WHERE fabric = {fabric:String}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time, stored_at DESC
LIMIT 1 BY time
