-- What the roll-up of each hour has to be made of.
SELECT hour, sum(sipHash64(toUnixTimestamp64Milli(time), graph_version, revision, toUnixTimestamp64Micro(stored_at))) AS made_of
FROM
(
    SELECT time, graph_version, revision, stored_at, duration_ms, arrayJoin([0, 3600]) AS back, intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 - back AS hour
    FROM intervals
    WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
)
WHERE hour * 1000 >= {from:Int64} AND hour * 1000 + 7200000 <= {to:Int64}
GROUP BY hour
HAVING max(duration_ms) <= 720000 AND min(back) = 0
