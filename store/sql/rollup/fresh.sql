-- The hours whose roll-ups hold: whole within the span, with the hour after them, and
-- made of what the intervals of both are now. Their numbers are seconds since 1970. What
-- is rolled up looks five intervals ahead, so hours of longer intervals than
-- twelve minutes are not.
SELECT toInt64(toUnixTimestamp(time)) AS hour, made_of
FROM rollups
WHERE fabric = {fabric:String} AND {{condition}} AND toInt64(toUnixTimestamp(time)) * 1000 >= {from:Int64} AND toInt64(toUnixTimestamp(time)) * 1000 + 7200000 <= {to:Int64}
    AND (hour, made_of) IN
    (
        {{hashes}}
    )
