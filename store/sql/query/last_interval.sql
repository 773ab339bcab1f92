-- The last interval that is stored in full.
SELECT time, duration_ms, graph_version, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at
FROM intervals
WHERE fabric = {fabric:String}
ORDER BY time DESC, stored_at DESC
LIMIT 1
