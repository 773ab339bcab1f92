-- What jobs moved in the intervals that start in a span, as it was stored last.
SELECT job_id, time, read_bytes, write_bytes, rdma_read_bytes, rdma_write_bytes
FROM job_traffic
WHERE fabric = {fabric:String}
    AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
ORDER BY time, job_id, stored_at DESC, interval_start DESC, revision DESC
LIMIT 1 BY time, job_id
