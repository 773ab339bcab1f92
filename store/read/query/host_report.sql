-- The newest report of an agent ('id' empty), or that of one run.
SELECT run_id, report, graph
FROM hostping_runs
WHERE fabric = {fabric:String} AND agent = {agent:String} AND report != '' AND ({id:String} = '' OR run_id = {id:String})
    AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
ORDER BY time DESC
LIMIT 1
