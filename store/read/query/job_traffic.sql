-- What jobs moved in the intervals that start in a span, as it was stored last; those of
-- the given ids, an empty list is all.
SELECT job_id, time, read_bytes, write_bytes, rdma_read_bytes, rdma_write_bytes
FROM job_traffic
WHERE fabric = {fabric:String} AND (empty({ids:Array(String)}) OR job_id IN {ids:Array(String)})
    AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
ORDER BY time, job_id, stored_at DESC, interval_start DESC, revision DESC
LIMIT 1 BY time, job_id
