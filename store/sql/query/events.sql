-- What happened in a span, of the wanted kinds; an empty list wants all.
SELECT fabric, time, kind, device, port, region_id, job_id, detail
FROM events
WHERE fabric = {fabric:String} AND (empty({kinds:Array(String)}) OR kind IN {kinds:Array(String)})
    AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
ORDER BY time, rank
