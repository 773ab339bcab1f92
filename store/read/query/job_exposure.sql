-- Jobs that ended in a span, and what they had to do with regions: a region touched a job
-- if, in some hour, one of its links began or ended at a device of the job while the job ran
-- (Monet, section 5.3: an upper bound, for it says nothing of routes). worst is the
-- highest severity of such an hour, 0 if there was none, highest the highest mean of a
-- region that touched it.
WITH
    ran AS
    (
        SELECT job_id, start, argMax(end, (stored_at, interval_start, revision)) AS ended, argMax(name, (stored_at, interval_start, revision)) AS label,
            argMax(nodes, (stored_at, interval_start, revision)) AS devices
        FROM jobs
        WHERE fabric = {fabric:String} AND start < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY job_id, start
        HAVING ended >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND ended < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND ended > start
    ),
    ends AS
    (
        SELECT graph_version, link, arrayJoin([from_device, to_device]) AS device
        FROM links
        WHERE fabric = {fabric:String} AND (from_device IN (SELECT arrayJoin(devices) FROM ran) OR to_device IN (SELECT arrayJoin(devices) FROM ran))
    ),
    touched AS
    (
        SELECT DISTINCT r.graph_version AS graph_version, r.hour AS hour, r.region_id AS region_id, e.device AS device, toUInt8(r.severity) AS severity, r.first AS first,
            r.last + toIntervalMillisecond(r.last_ms) AS until, r.max_mean AS max_mean
        FROM (SELECT * FROM {{region_hours}} ARRAY JOIN links AS one) AS r
        INNER JOIN ends AS e ON e.graph_version = r.graph_version AND e.link = r.one
        WHERE ({metric:String} = '' OR r.metric = {metric:String}) AND r.severity > 'Neg'
    ),
    parts AS
    (
        SELECT job_id, start, ended, device, arrayJoin(range(toUInt64(intDiv(toUnixTimestamp64Milli(greatest(start, fromUnixTimestamp64Milli({from:Int64}, 'UTC'))), 3600000)), toUInt64(intDiv(toUnixTimestamp64Milli(ended), 3600000)) + 1)) * 3600 AS hour
        FROM ran
        ARRAY JOIN devices AS device
    ),
    met AS
    (
        SELECT p.job_id AS job_id, p.start AS start, max(t.severity) AS worst, max(t.max_mean) AS highest
        FROM parts AS p
        INNER JOIN touched AS t ON t.device = p.device AND t.hour = toInt64(p.hour)
        WHERE t.first < p.ended AND t.until > p.start
        GROUP BY job_id, start
    )
SELECT r.job_id AS job_id, r.label AS name, length(r.devices) AS size, dateDiff('millisecond', r.start, r.ended) / 1000 AS run_seconds, m.worst AS worst, m.highest AS highest
FROM ran AS r
LEFT JOIN met AS m ON m.job_id = r.job_id AND m.start = r.start
ORDER BY r.start, job_id
LIMIT {limit:UInt64}
