-- The intervals of the span, each in the revision and under the version that hold, that
-- no roll-up has, and those of the hours after them (which do not count, but
-- become what was forecast).
SELECT time, graph_version, revision, duration_ms, links, unknown, unknown != '' OR arraySum(mapValues(measured)) = 0 AS blind,
    intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS hour, hour NOT IN (SELECT hour FROM fresh) AS counts
FROM intervals
WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND (hour NOT IN (SELECT hour FROM fresh) OR hour - 3600 NOT IN (SELECT hour FROM fresh))
ORDER BY revision DESC, stored_at DESC
LIMIT 1 BY time
