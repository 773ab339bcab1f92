-- Monet, figure 5c, the boxes: the share of all link time that is spent in
-- regions of each severity; what is left is Neg.
SELECT severity, sum(size) / (
        SELECT sum(links) FROM intervals
        WHERE fabric = {fabric:String}
            AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    ) AS share
FROM regions
WHERE fabric = {fabric:String} AND metric = {metric:String} AND severity != 'Neg'
    AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY severity
ORDER BY severity
