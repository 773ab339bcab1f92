-- An interval with tracking, and the state of the analysis in one piece, as schema
-- 5 had them.
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links,
    odds_next, odds_later, growth_links, trend, stored_at)
VALUES ('old', toDateTime64(300, 3), 7, 0, 'credit_stall', 5, 'High', 1, 31, 31, '(0) 1', [0], [0], toDateTime64(181, 9), 3, [0], [0, 0, 0, 250, 0], [0, 0, 0, 200, 50], -1, 0.5, now());
INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at,
    network_next, network_later, rce_begin, rce_end, rce_peak, move_metrics, move_from, move_to, move_regions,
    spell_metrics, spell_thresholds, spell_intervals, spell_links, hot_metrics, hot_links, hot_since)
VALUES ('old', toDateTime64(300, 3), 7, 30000, 2, map('credit_stall', 1), 4, map(), 1, 0, 0, toDateTime64(301, 9), toDateTime64(329, 9), now64(6),
    [0, 0, 0, 250, 0], [0, 0, 50, 200, 0], toDateTime64(180, 9), toDateTime64(330, 9), 31, ['credit_stall'], [3], [3], [1],
    ['credit_stall'], [5], [4], [2], ['credit_stall'], [0], [toDateTime64(180, 9)]);
INSERT INTO analysis_states (fabric, time, graph_version, state, stored_at) VALUES ('old', toDateTime64(300, 3), 7, 'all that was known', now());
