-- Pairs of hosts that differ from the median of the hosts of their model: slower by
-- more than 'percent', or with a latency that is longer by more. Each host counts with
-- its newest report of an idle run within the span, and a model from 3 hosts on.
WITH newest AS
    (
        SELECT agent, max(time) FROM hostping_runs
        WHERE fabric = {fabric:String} AND state = 'idle' AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND ({model:String} = '' OR model = {model:String})
            AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
        GROUP BY agent
    ),
    runs AS
    (
        SELECT agent, run_id, time, model, rnics AS rnic, endpoints AS endpoint, gbps AS rate, latency_us AS latency FROM hostping_runs
        WHERE fabric = {fabric:String} AND state = 'idle' AND (agent, time) IN newest AND ({model:String} = '' OR model = {model:String})
            AND (startsWith(run_id, 'monitor.') OR run_id IN (SELECT run_id FROM hostping_runs WHERE fabric = {fabric:String} AND status = 'requested'))
        ORDER BY run_id
        LIMIT 1 BY agent
    ),
    pairs AS
    (
        SELECT agent, run_id, time, model, rnic, endpoint, rate, latency,
            median(rate) OVER w AS fleet_rate, median(latency) OVER w AS fleet_latency, count() OVER w AS hosts
        FROM runs ARRAY JOIN rnic, endpoint, rate, latency
        WINDOW w AS (PARTITION BY model, rnic, endpoint)
    )
SELECT agent, run_id, time, model, rnic, endpoint, toFloat64(rate) AS gbps, toFloat64(latency) AS latency_us, toFloat64(fleet_rate) AS fleet_gbps,
    toFloat64(fleet_latency) AS fleet_latency_us, hosts
FROM pairs
WHERE hosts >= 3 AND (rate < fleet_rate * (1 - {percent:Float64} / 100) OR latency > fleet_latency * (1 + {percent:Float64} / 100))
ORDER BY rate / fleet_rate, agent, rnic, endpoint
LIMIT {limit:UInt64}
