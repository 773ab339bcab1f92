-- What searches found and has not been withdrawn, of one ('id') or of all, by NIC model
-- where one is given; of searches that an authentic command requested.
SELECT search_id, agent, experiment, revised, time, symptom, workload, mfs, nic_model, board, firmware, cpu, pcie, nps, kernel
FROM
    (
        SELECT * FROM search_findings
        WHERE fabric = {fabric:String} AND ({id:String} = '' OR search_id = {id:String}) AND ({model:String} = '' OR nic_model = {model:String})
            AND search_id IN (SELECT search_id FROM search_steps WHERE fabric = {fabric:String} AND status = 'requested')
        ORDER BY revised DESC, time DESC
        LIMIT 1 BY search_id, agent, experiment
    )
WHERE mfs != ''
ORDER BY time DESC, search_id, agent, experiment
LIMIT {limit:UInt64}
