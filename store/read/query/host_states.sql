-- Each host's newest report within a span, the ones with verdicts first. A run has a
-- state where it has a report, which is long and not read here.
WITH newest AS
    (
        SELECT agent, max(time) FROM hostping_runs
        WHERE fabric = {fabric:String} AND state != '' AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND ({model:String} = '' OR model = {model:String})
            AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
        GROUP BY agent
    )
SELECT agent, run_id, status, time, trigger, mode, region_id, model, state, seconds, probes, bottlenecks, accused, confidences, sentence
FROM hostping_runs
WHERE fabric = {fabric:String} AND state != '' AND (agent, time) IN newest AND ({model:String} = '' OR model = {model:String})
    AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
ORDER BY empty(bottlenecks), if(empty(confidences), 0, confidences[1]) DESC, agent, run_id
LIMIT 1 BY agent
LIMIT {limit:UInt64}
