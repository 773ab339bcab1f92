-- Why regions were congested, by class of the cause: regions, and once per interval how often,
-- the mean of their stall, and how often a job was accused.
SELECT metric AS class, uniqExact(x) AS regions, sum(n) AS diagnoses, sum(total) / diagnoses AS mean_percent, sum(y) AS accused
FROM {{.Counts "cause"}}
GROUP BY class
ORDER BY diagnoses DESC, class
