-- What agents have answered to a command.
SELECT agent, status, time, reason, output
FROM command_results
WHERE fabric = {fabric:String} AND command_id = {id:String}
ORDER BY agent, time, status
