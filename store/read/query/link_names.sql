-- The names of some links of one version of a fabric.
SELECT link, concat(from_device, ' ', from_port, ' to ', to_device, ' ', to_port) AS name
FROM links
WHERE fabric = {fabric:String} AND graph_version = {version:UInt64} AND link IN {links:Array(UInt32)}
