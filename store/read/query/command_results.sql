-- What agents have answered to a command, each answer once: a takeover may have
-- stored one twice.
SELECT agent, status, kind, sequence, time, reason, output, verified
FROM command_results
WHERE fabric = {fabric:String} AND command_id = {id:String}
ORDER BY agent, time, sequence, status
LIMIT 1 BY agent, status, sequence
