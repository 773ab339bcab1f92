-- One metric of one link of a version of the graph by five minutes or by hours: average
-- and highest value of those intervals in which it was measured, and their number.
SELECT begin, measured[{element:UInt32}] AS intervals,
    if(empty(rate_averages), percent_sums[{element:UInt32}] / intervals / 100, toFloat64(rate_averages[{element:UInt32}])) AS average,
    if(empty(rate_maxima), percent_maxima[{element:UInt32}] / 100, toFloat64(rate_maxima[{element:UInt32}])) AS highest
FROM {{.LinkRollups .Args.table}}
WHERE block = {block:UInt32} AND graph_version = {version:UInt64} AND intervals > 0
ORDER BY begin
