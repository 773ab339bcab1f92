-- What logs and management systems said of failures in a span, each once.
SELECT time, kind, device, port, detail
FROM failures
WHERE fabric = {fabric:String}
    AND time >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
ORDER BY time, kind, device, port, detail
LIMIT 1 BY time, kind, device, port, detail
