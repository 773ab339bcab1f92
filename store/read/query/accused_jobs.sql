-- The jobs that the diagnoses of a span accuse, by the sum of their blame: a region counts once per
-- interval, and the jobs that share its blame each count their part. The name is that stored last.
WITH current AS
    (
        SELECT time, graph_version, revision FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        ORDER BY revision DESC, stored_at DESC
        LIMIT 1 BY time
    ),
    accused AS
    (
        SELECT job_id, uniqExact(region_id) AS regions, count() AS diagnoses, sum(blame) AS blamed, sum(blame * mean) / blamed AS mean_percent
        FROM diagnoses ARRAY JOIN job_ids AS job_id, blames AS blame
        WHERE fabric = {fabric:String} AND blame > 0 AND (time, graph_version, revision) IN current
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY job_id
        ORDER BY blamed DESC, job_id
        LIMIT {limit:UInt64}
    )
SELECT a.job_id AS job_id, j.name AS name, a.regions AS regions, a.diagnoses AS diagnoses, a.blamed AS blamed, a.mean_percent AS mean_percent
FROM accused AS a
LEFT JOIN (SELECT job_id, argMax(name, stored_at) AS name FROM jobs WHERE fabric = {fabric:String} AND job_id IN (SELECT job_id FROM accused) GROUP BY job_id) AS j ON j.job_id = a.job_id
ORDER BY blamed DESC, job_id
