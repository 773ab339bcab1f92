-- Jobs that ended in a span, and what they had to do with regions: a region touched a job
-- if, in some hour, one of its links began or ended at a device of the job while the job ran
-- (Monet, section 5.3: an upper bound, for it says nothing of routes). worst is the
-- highest severity of such an hour, 0 if there was none, highest the highest mean of a
-- region that touched it. Devices are numbered, so that sets of them are bitmaps.
WITH
    ran AS
    (
        SELECT job_id, start, argMax(end, (stored_at, interval_start, revision)) AS ended, argMax(name, (stored_at, interval_start, revision)) AS label, argMax(nodes, (stored_at, interval_start, revision)) AS devices
        FROM jobs
        WHERE fabric = {fabric:String} AND start < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        GROUP BY job_id, start
        HAVING ended >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND ended < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND ended > start
    ),
    numbered AS
    (
        SELECT device, toUInt32(row_number() OVER (ORDER BY device)) AS number
        FROM (SELECT DISTINCT arrayJoin([from_device, to_device]) AS device FROM links WHERE fabric = {fabric:String})
    ),
    ends AS
    (
        SELECT l.graph_version AS graph_version, l.link AS link, groupArray(n.number) AS pair
        FROM (SELECT graph_version, link, arrayJoin([from_device, to_device]) AS device FROM links WHERE fabric = {fabric:String}) AS l
        INNER JOIN numbered AS n ON n.device = l.device
        GROUP BY graph_version, link
    ),
    touched AS
    (
        SELECT r.hour AS hour, groupBitmapState(arrayJoin(e.pair)) AS devices, toUInt8(max(r.severity)) AS severity, min(r.first) AS first,
            max(r.last + toIntervalMillisecond(r.last_ms)) AS until, max(r.max_mean) AS max_mean
        FROM (SELECT graph_version, hour, region_id, severity, first, last, last_ms, max_mean, one FROM {{.RegionHours}} ARRAY JOIN links AS one WHERE severity > 'Neg' AND ({metric:String} = '' OR metric = {metric:String})) AS r
        INNER JOIN ends AS e ON e.graph_version = r.graph_version AND e.link = r.one
        GROUP BY r.graph_version, r.hour, r.region_id
    ),
    placed AS
    (
        SELECT r.job_id AS job_id, r.start AS start, r.ended AS ended, groupBitmapState(n.number) AS devices
        FROM (SELECT job_id, start, ended, arrayJoin(devices) AS device FROM ran) AS r
        INNER JOIN numbered AS n ON n.device = r.device
        GROUP BY job_id, start, ended
    ),
    met AS
    (
        SELECT p.job_id AS job_id, p.start AS start, max(t.severity) AS worst, max(t.max_mean) AS highest
        FROM
        (
            SELECT job_id, start, ended, devices, arrayJoin(range(toUInt64(intDiv(toUnixTimestamp64Milli(greatest(start, fromUnixTimestamp64Milli({from:Int64}, 'UTC'))), 3600000)), toUInt64(intDiv(toUnixTimestamp64Milli(ended), 3600000)) + 1)) * 3600 AS hour
            FROM placed
        ) AS p
        INNER JOIN touched AS t ON t.hour = toInt64(p.hour)
        WHERE t.first < p.ended AND t.until > p.start AND bitmapHasAny(p.devices, t.devices)
        GROUP BY job_id, start
    )
SELECT r.job_id AS job_id, r.label AS name, length(r.devices) AS size, dateDiff('millisecond', r.start, r.ended) / 1000 AS run_seconds, m.worst AS worst, m.highest AS highest
FROM ran AS r
LEFT JOIN met AS m ON m.job_id = r.job_id AND m.start = r.start
ORDER BY r.start, job_id
LIMIT {limit:UInt64}
