-- The values of all links in one interval, block by block, NaN where missing.
SELECT metric, block,
    arrayConcat(arrayMap(p -> toFloat32(ifNull(p / 100, nan)), percents), arrayMap(r -> ifNull(r, toFloat32(nan)), rates)) AS values
FROM link_samples
WHERE fabric = {fabric:String} AND metric IN {metrics:Array(String)}
    AND time = fromUnixTimestamp64Milli({start:Int64}, 'UTC') AND graph_version = {version:UInt64} AND revision = {revision:UInt32}
