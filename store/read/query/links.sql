-- The links of one version of a fabric, in order of number.
SELECT from_device, from_port, to_device, to_port, class, capacity, dim, up
FROM links
WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}
ORDER BY link
