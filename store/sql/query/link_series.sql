-- One metric of one link over a span; no row where it was not measured.
SELECT time, if(empty(rates), percents[{element:UInt32}] / 100, toFloat64(rates[{element:UInt32}])) AS value
FROM link_samples
WHERE fabric = {fabric:String} AND metric = {metric:String} AND block = {block:UInt32}
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND isNotNull(value)
ORDER BY time
