-- What the roll-up of each whole hour of a span has to be made of, with the oldest row of it and of
-- the hour after it. What is rolled up looks five intervals ahead, so hours of longer intervals than
-- twelve minutes are not (short is false). Numbers of hours are seconds since 1970.
SELECT begin - back AS hour, sum(part) AS made_of, max(longest) <= 720000 AS short, min(oldest) AS oldest
FROM
(
    SELECT intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS begin, sum(sipHash64(toUnixTimestamp64Milli(time), graph_version, revision, toUnixTimestamp64Micro(stored_at))) AS part,
        max(duration_ms) AS longest, min(stored_at) AS oldest
    FROM intervals
    WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    GROUP BY begin
)
ARRAY JOIN [0, 3600] AS back
GROUP BY hour
HAVING min(back) = 0 AND hour * 1000 >= {from:Int64} AND hour * 1000 + 7200000 <= {to:Int64}
