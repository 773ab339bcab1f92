-- The hours of a span: what their roll-ups have to be made of (made false), and what those
-- that there are were made of; with days, likewise those of link_days (day true). Of expired hours
-- rows may be deleted.
SELECT hour, made_of, false AS made, short, oldest < toDateTime64({kept:Int64}, 6, 'UTC') AS expired, false AS with_samples, false AS day
FROM
(
    {{hashes}}
)
UNION ALL
SELECT toInt64(toUnixTimestamp(time)) AS hour, made_of, true AS made, true AS short, false AS expired, max(samples) AS with_samples, false AS day
FROM rollups
WHERE fabric = {fabric:String} AND kinds >= {kinds:UInt8} AND time >= toDateTime(intDiv({from:Int64}, 1000), 'UTC') AND time < toDateTime(intDiv({to:Int64}, 1000), 'UTC')
GROUP BY hour, made_of
UNION ALL
SELECT DISTINCT toInt64(toUnixTimestamp(time)) AS hour, made_of, true AS made, true AS short, false AS expired, true AS with_samples, true AS day
FROM link_days
WHERE {days:Bool} AND fabric = {fabric:String} AND block = 0 AND time >= toDateTime(intDiv({from:Int64}, 1000), 'UTC') AND time < toDateTime(intDiv({to:Int64}, 1000), 'UTC')
