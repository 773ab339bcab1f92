-- Baselines of models, of each agent the newest.
SELECT model, agent, run_id, time, document
FROM
    (
        SELECT * FROM hostping_baselines
        WHERE fabric = {fabric:String} AND ({model:String} = '' OR model = {model:String})
            AND run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested')
        ORDER BY time DESC
        LIMIT 1 BY model, agent
    )
ORDER BY model, time DESC, agent
LIMIT {limit:UInt64}
