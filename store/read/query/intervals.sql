-- The stored intervals that start in a span. One that was stored several times, in
-- several revisions or under several versions of the graph, counts once: in its
-- newest revision, as it was stored last; so it is in every query here that has
-- `current`.
SELECT time, duration_ms, graph_version, revision, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at, unknown, unknown_since
FROM intervals
WHERE fabric = {fabric:String}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time, revision DESC, stored_at DESC
LIMIT 1 BY time
