-- The network's states by steps of whole hours: for how long it was in each, by any
-- metric; the first element is that of time whose state is not known.
SELECT intDiv(hour, {step:Int64}) * {step:Int64} AS begin, [sumIf(total, x = -1), sumIf(total, x = 0), sumIf(total, x = 1), sumIf(total, x = 2), sumIf(total, x = 3)] AS state_ms
FROM {{.Counts "network_state"}}
WHERE metric = ''
GROUP BY begin
ORDER BY begin
