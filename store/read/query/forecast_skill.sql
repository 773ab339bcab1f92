-- How good the forecasts were, of what was said and what then happened: the mean
-- Brier score, 0 (perfect) to 2, of the forecasts for so many intervals ahead (1 or
-- 5), beside that of persistence, which says that every region stays as it is.
-- A forecast counts if the intervals up to its own are stored without a gap and have
-- the same length.
SELECT toUInt8(x) AS ahead, sum(n) AS forecasts, sum(total) / forecasts AS brier, sum(other) / forecasts AS persistence
FROM {{.Counts "forecast"}}
GROUP BY ahead
ORDER BY ahead
