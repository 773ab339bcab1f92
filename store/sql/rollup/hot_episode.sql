-- n links whose time at or above x hundredths of a percent ended after y milliseconds,
-- from the first to the last interval.
SELECT graph_version, hour, toString(part) AS metric, toInt64(round(level * 100)) AS x,
    (toInt64(spell) - 1) * toInt64(duration_ms) AS y, sum(k) AS n, 0 AS total, 0 AS other
FROM stale
ARRAY JOIN spell_metrics AS part, spell_thresholds AS level, spell_intervals AS spell, spell_links AS k
WHERE counts
GROUP BY graph_version, hour, metric, x, y
