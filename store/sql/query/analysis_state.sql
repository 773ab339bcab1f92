-- What the analysis had learned last, up to the given interval or earlier.
SELECT time, state
FROM analysis_states
WHERE fabric = {fabric:String} AND graph_version = {version:UInt64} AND time <= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
ORDER BY time DESC
LIMIT 1
