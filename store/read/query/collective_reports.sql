-- The reports of diagnosed collectives that ran at any time of a span, the newest first,
-- each as it was published last; of the one with an id where that is given.
SELECT run_id, agent, time, document
FROM collective_runs
WHERE fabric = {fabric:String} AND begin < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AND end >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ({id:String} = '' OR run_id = {id:String})
ORDER BY begin DESC, run_id, time DESC, stored_at DESC
LIMIT 1 BY run_id
LIMIT {limit:UInt64}
