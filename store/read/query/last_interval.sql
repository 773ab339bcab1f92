-- The last interval that is stored in full and starts at an instant or earlier.
SELECT time, duration_ms, graph_version, revision, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at, unknown, unknown_since
FROM intervals
WHERE fabric = {fabric:String} AND time <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')
ORDER BY time DESC, revision DESC, stored_at DESC
LIMIT 1
