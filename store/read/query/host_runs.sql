-- Runs that probed hosts, the newest first, of a span of their time; of one agent, of
-- one region, or the one with an id, where these are given. A run that was requested
-- and of which no agent has answered has no agent. What is reported under an id that no
-- authentic command has, and that is not of a monitor, counts for nothing.
WITH requested AS
    (
        SELECT run_id, time, principal, reason, mode, region_id FROM hostping_runs
        WHERE fabric = {fabric:String} AND status = 'requested'
        ORDER BY time
        LIMIT 1 BY run_id
    ),
    answered AS
    (
        SELECT agent, run_id, status, time, reason, trigger, mode, region_id, model, state, seconds, probes, bottlenecks, accused, confidences, sentence,
            -- a refusal is about the run only where nothing began
            multiIf(status IN ('refused', 'expired'), 0, status = 'accepted', 1, 2) AS stage
        FROM hostping_runs
        WHERE fabric = {fabric:String} AND status != 'requested' AND ({agent:String} = '' OR agent = {agent:String})
            AND ({id:String} = '' OR run_id = {id:String})
            AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM requested))
        ORDER BY stage DESC, time DESC
        LIMIT 1 BY run_id, agent
    )
SELECT a.agent AS agent, if(a.run_id = '', r.run_id, a.run_id) AS run_id, if(a.status = '', 'requested', a.status) AS status,
    if(a.run_id = '', r.time, a.time) AS time, r.principal AS principal, r.reason AS why, a.reason AS reason,
    if(a.trigger = '', 'command', a.trigger) AS trigger, if(a.mode = '', r.mode, a.mode) AS mode, if(r.region_id = 0, a.region_id, r.region_id) AS region_id,
    a.model AS model, a.state AS state, a.seconds AS seconds, a.probes AS probes, a.bottlenecks AS bottlenecks, a.accused AS accused,
    a.confidences AS confidences, a.sentence AS sentence
FROM answered AS a FULL JOIN requested AS r ON r.run_id = a.run_id
WHERE time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND ({region:UInt64} = 0 OR region_id = {region:UInt64})
    AND ({agent:String} = '' OR agent = {agent:String}) AND ({id:String} = '' OR run_id = {id:String})
ORDER BY time DESC, run_id, agent
LIMIT {limit:UInt64}
