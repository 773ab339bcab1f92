-- What is stored of a span by version of the graph: intervals, those whose state is known,
-- their time, and the links of one.
SELECT graph_version, count() AS intervals, countIf(NOT blind) AS known, sum(duration_ms) AS total_ms, max(links) AS most_links, min(time) AS first, max(time) AS last
FROM
(
    SELECT time, graph_version, duration_ms, links, unknown != '' OR arraySum(mapValues(measured)) = 0 AS blind
    FROM intervals
    WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ORDER BY revision DESC, stored_at DESC
    LIMIT 1 BY time
)
GROUP BY graph_version
ORDER BY first
