-- The values of all links in some intervals, block by block, NaN where missing.
WITH arrayConcat(arrayMap(p -> toFloat32(ifNull(p / 100, nan)), percents), arrayMap(r -> ifNull(r, toFloat32(nan)), rates)) AS values
SELECT toUnixTimestamp64Milli(time) AS at, metric, block, unhex(arrayStringConcat(arrayMap(v -> hex(reinterpretAsFixedString(v)), values))) AS packed_values
FROM link_samples
WHERE fabric = {fabric:String} AND metric IN {metrics:Array(String)}
    AND time >= fromUnixTimestamp64Milli({first:Int64}, 'UTC') AND time <= fromUnixTimestamp64Milli({last:Int64}, 'UTC') AND graph_version = {version:UInt64}
    AND (toUnixTimestamp64Milli(time), revision) IN arrayZip({starts:Array(Int64)}, {revisions:Array(UInt32)})
