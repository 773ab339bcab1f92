-- The intervals that are counted one by one, each in the revision and under the version that
-- hold, and those of the hours after them (which do not count, but become what was
-- forecast).
SELECT time, graph_version, revision, duration_ms, links, unknown, unknown != '' OR arraySum(mapValues(measured)) = 0 AS blind,
    intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS hour, {{counted}} AS counts, measured, rce_begin, rce_end, rce_peak,
    move_metrics, move_from, move_to, move_regions, spell_metrics, spell_thresholds, spell_intervals, spell_links
FROM intervals
WHERE fabric = {fabric:String} AND {{seen}}
ORDER BY revision DESC, stored_at DESC
LIMIT 1 BY time
