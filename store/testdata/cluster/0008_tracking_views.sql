CREATE VIEW IF NOT EXISTS `giverny-1`.`region_transitions` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, state_before, state_after, regions
FROM `giverny-1`.`intervals`
ARRAY JOIN move_metrics AS metric, move_from AS state_before, move_to AS state_after, move_regions AS regions;

CREATE VIEW IF NOT EXISTS `giverny-1`.`hot_episodes` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, threshold_percent, episode_intervals, links, duration_ms
FROM
(
    SELECT fabric, time, graph_version, duration_ms, spell_metrics, spell_thresholds, spell_intervals, spell_links
    FROM `giverny-1`.`intervals`
)
ARRAY JOIN spell_metrics AS metric, spell_thresholds AS threshold_percent, spell_intervals AS episode_intervals, spell_links AS links;

CREATE VIEW IF NOT EXISTS `giverny-1`.`hot_links` ON CLUSTER `two shards` AS
SELECT fabric, time, graph_version, metric, link, since
FROM `giverny-1`.`intervals`
ARRAY JOIN hot_metrics AS metric, hot_links AS link, hot_since AS since;

