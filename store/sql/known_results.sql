-- Which results of some commands the audit has.
SELECT command_id, agent, status, sequence FROM command_results WHERE fabric = {fabric:String} AND command_id IN {ids:Array(String)}
