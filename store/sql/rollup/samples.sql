-- The hours of which every sample of the links that the intervals name is there.
SELECT hour
FROM
(
    SELECT hour, 0 AS there, sum(length(measured)) AS named
    FROM (SELECT time, graph_version, revision, hour FROM stale WHERE counts) AS c
    INNER JOIN (SELECT time, graph_version, revision, measured FROM intervals WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS i
        USING (time, graph_version, revision)
    GROUP BY hour
    UNION ALL
    SELECT intDiv(toUnixTimestamp64Milli(time), 3600000) * 3600 AS hour, count() AS there, 0 AS named
    FROM link_samples
    WHERE fabric = {fabric:String} AND block = 0 AND (time, graph_version, revision) IN (SELECT time, graph_version, revision FROM stale WHERE counts)
    GROUP BY hour
)
GROUP BY hour
HAVING sum(there) = sum(named)
