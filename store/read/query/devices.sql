-- The devices of one version of a fabric, in order of number.
SELECT name, kind, guid, label, level, device_group, coord
FROM devices
WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}
ORDER BY device
