-- Why regions were congested, by class of the cause: regions and their minutes, the mean of
-- their stall, and how many of them accused a job.
SELECT class, uniqExact(region_id) AS regions, count() AS diagnoses, avg(mean) AS mean_percent, countIf(notEmpty(job_ids)) AS accused
FROM diagnoses
WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND (time, graph_version, revision) IN
    (
        SELECT time, graph_version, revision
        FROM intervals
        WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    )
GROUP BY class
ORDER BY diagnoses DESC, class
