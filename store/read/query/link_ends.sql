-- The devices at which the links of a version begin and end, in order of number, between
-- which are characters 0.
SELECT arrayStringConcat(groupArray(a), '\0') AS begins, arrayStringConcat(groupArray(b), '\0') AS ends
FROM
(
    SELECT link, any(from_device) AS a, any(to_device) AS b
    FROM links
    WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}
    GROUP BY link
    ORDER BY link
)
