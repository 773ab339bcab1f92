-- One version of a fabric.
SELECT duplex, grid_dims, grid_wrap
FROM fabrics
WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}
LIMIT 1
