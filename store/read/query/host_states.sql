-- Each host's newest report within a span, the ones with verdicts first.
SELECT agent, run_id, status, time, trigger, mode, region_id, model, state, seconds, probes, bottlenecks, accused, confidences, sentence
FROM
    (
        SELECT * FROM hostping_runs
        WHERE fabric = {fabric:String} AND report != '' AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND ({model:String} = '' OR model = {model:String})
            AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
        ORDER BY time DESC
        LIMIT 1 BY agent
    )
ORDER BY empty(bottlenecks), if(empty(confidences), 0, confidences[1]) DESC, agent
LIMIT {limit:UInt64}
