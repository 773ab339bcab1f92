-- What agents have answered to a command, each answer once: a takeover may have
-- stored one twice.
SELECT agent, status, time, reason, output
FROM command_results
WHERE fabric = {fabric:String} AND command_id = {id:String}
ORDER BY agent, time, status
LIMIT 1 BY agent, status
