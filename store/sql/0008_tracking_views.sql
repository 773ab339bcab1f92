-- What the rows of intervals carry in arrays, a row per element and by name. An
-- interval that was stored under two versions of the graph stands in each of them
-- under both.
--
-- Regions that were in one state in the interval before and in another in this one
-- (0 Neg, 1 Low, 2 Medium, 3 High, 4 not there).
CREATE VIEW IF NOT EXISTS region_transitions AS
SELECT fabric, time, graph_version, metric, state_before, state_after, regions
FROM intervals
ARRAY JOIN move_metrics AS metric, move_from AS state_before, move_to AS state_after, move_regions AS regions;

-- Links whose time at or above a threshold (percent of time) has ended in this
-- interval, after so many intervals.
CREATE VIEW IF NOT EXISTS hot_episodes AS
SELECT fabric, time, graph_version, metric, threshold_percent, episode_intervals, links, duration_ms
FROM
(
    SELECT fabric, time, graph_version, duration_ms, spell_metrics, spell_thresholds, spell_intervals, spell_links
    FROM intervals
)
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold_percent, spell_intervals AS episode_intervals, spell_links AS links;

-- The links that have been hot for longest.
CREATE VIEW IF NOT EXISTS hot_links AS
SELECT fabric, time, graph_version, metric, link, since
FROM intervals
ARRAY JOIN hot_metrics AS metric, hot_links AS link, hot_since AS since;
