-- One region from its birth to its end.
SELECT time, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links,
    odds_next, odds_later, growth_links, trend
FROM regions
WHERE fabric = {fabric:String} AND region_id = {id:UInt64}
ORDER BY time, rank
