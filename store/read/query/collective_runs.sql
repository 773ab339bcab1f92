-- Diagnosed collectives that ran at any time of a span, the newest first, each as it was
-- published last; of one job, or the one with an id, where these are given.
SELECT job_id, run_id, agent, time, begin, end, format, ranks, iterations, makespan_ns, expected_ns, classes, flows, objects, costs_ns, confidences,
    stopped_ranks, text
FROM collective_runs
WHERE fabric = {fabric:String} AND begin < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AND end >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ({job:String} = '' OR job_id = {job:String}) AND ({id:String} = '' OR run_id = {id:String})
ORDER BY begin DESC, run_id, time DESC, stored_at DESC
LIMIT 1 BY run_id
LIMIT {limit:UInt64}
