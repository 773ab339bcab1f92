-- Which of some commands the audit has.
SELECT id, digest FROM commands WHERE fabric = {fabric:String} AND id IN {ids:Array(String)}
