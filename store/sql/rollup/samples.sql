-- The hours of which every sample of the links that the intervals name is there.
SELECT hour
FROM
(
    SELECT hour, 0 AS there, sum(length(measured)) AS named
    FROM stale
    WHERE counts
    GROUP BY hour
    UNION ALL
    SELECT intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS hour, count() AS there, 0 AS named
    FROM link_samples
    WHERE fabric = {fabric:String} AND block = 0 AND {{counted}} AND (time, graph_version, revision) IN (SELECT time, graph_version, revision FROM stale WHERE counts)
    GROUP BY hour
)
GROUP BY hour
HAVING sum(there) = sum(named)
