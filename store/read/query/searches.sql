-- The searches that were requested, the newest first, of a span of their request, or
-- ('id') one; with the newest answer of each agent, none while no agent has answered.
WITH requested AS
    (
        SELECT search_id, time, principal, reason, region_id, engine, adapter, algorithm, peers, seed, budget, nic_model, board, firmware, cpu, pcie, nps, kernel
        FROM search_steps
        WHERE fabric = {fabric:String} AND status = 'requested' AND ({id:String} = '' OR search_id = {id:String})
            AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        ORDER BY time DESC, search_id
        LIMIT 1 BY search_id
        LIMIT {limit:UInt64}
    ),
    restricted AS -- as the command asks, which the steps do not have
    (
        SELECT id, argMax(JSONExtractRaw(arguments, 'restrict'), verified = 'valid') AS restrict
        FROM commands
        WHERE fabric = {fabric:String} AND kind = 'search' AND verified IN ('valid', 'no keys') AND id IN (SELECT search_id FROM requested)
        GROUP BY id
    ),
    answered AS
    (
        SELECT search_id, agent, status, time, reason, adapter, nic_model, board, firmware, cpu, pcie, nps, kernel,
            -- the last report; a failure has none of its own
            max(experiments) OVER w AS most_experiments, max(failed) OVER w AS most_failed, max(seconds) OVER w AS most_seconds,
            max(gigabytes) OVER w AS most_gigabytes, argMax(anomalies, (experiments, sequence)) OVER w AS last_anomalies,
            max(nic_model) OVER w AS any_model, max(board) OVER w AS any_board, max(firmware) OVER w AS any_firmware, max(cpu) OVER w AS any_cpu,
            max(pcie) OVER w AS any_pcie, max(nps) OVER w AS any_nps, max(kernel) OVER w AS any_kernel, max(adapter) OVER w AS any_adapter,
            -- a refusal is about the search only where nothing began: a forged command under its id is refused too
            multiIf(status IN ('refused', 'expired'), 0, status = 'accepted', 1, status = 'progress', 2, 3) AS stage
        FROM search_steps
        WHERE fabric = {fabric:String} AND status != 'requested' AND search_id IN (SELECT search_id FROM requested)
        WINDOW w AS (PARTITION BY search_id, agent)
        ORDER BY stage DESC, sequence DESC, time DESC
        LIMIT 1 BY search_id, agent
    )
SELECT r.search_id AS search_id, r.time AS requested, r.principal AS principal, r.reason AS why, r.region_id AS region_id, r.engine AS engine,
    r.algorithm AS algorithm, r.peers AS peers, r.seed AS seed, r.budget AS budget, if(c.restrict IN ('null', '{}'), '', c.restrict) AS restrict,
    a.agent AS agent, a.status AS status, a.time AS time, a.reason AS reason,
    a.most_experiments AS experiments, a.most_failed AS failed, a.most_seconds AS seconds, a.most_gigabytes AS gigabytes, a.last_anomalies AS anomalies,
    if(a.any_adapter = '', r.adapter, a.any_adapter) AS adapter, if(a.any_model = '', r.nic_model, a.any_model) AS nic_model,
    if(a.any_model = '', r.board, a.any_board) AS board, if(a.any_model = '', r.firmware, a.any_firmware) AS firmware,
    if(a.any_model = '', r.cpu, a.any_cpu) AS cpu, if(a.any_model = '', r.pcie, a.any_pcie) AS pcie,
    if(a.any_model = '', r.nps, a.any_nps) AS nps, if(a.any_model = '', r.kernel, a.any_kernel) AS kernel
FROM requested AS r LEFT JOIN answered AS a ON a.search_id = r.search_id LEFT JOIN restricted AS c ON c.id = r.search_id
ORDER BY requested DESC, search_id, agent
