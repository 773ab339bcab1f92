-- Regions at Low or above by hours, of a metric or (empty) of all: the worst of them, from
-- when until when they were there, and the links that were in them.
SELECT graph_version, hour, toUInt8(severity) AS worst, toUnixTimestamp64Nano(toDateTime64(first, 9, 'UTC')) AS begin, toUnixTimestamp64Nano(toDateTime64(last, 9, 'UTC')) + 1000000 * toInt64(last_ms) AS until,
    max_mean, arrayStringConcat(links, ',') AS members
FROM {{.RegionHours}}
WHERE severity > 'Neg' AND ({metric:String} = '' OR metric = {metric:String})
ORDER BY graph_version, hour
