-- The start of the first interval of a fabric that is stored in full.
SELECT time
FROM intervals
WHERE fabric = {fabric:String}
ORDER BY time
LIMIT 1
