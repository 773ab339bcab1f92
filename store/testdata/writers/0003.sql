-- What schema 3 added to an interval.
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links, stored_at)
VALUES ('old', toDateTime64(180, 3), 7, 0, 'credit_stall', 5, 'High', 1, 30, 30, '(0) 1', [0], [0], toDateTime64(181, 9), 1, [0], now());
INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, region_links, coverage, stored_at) VALUES ('old', toDateTime64(180, 3), 7, 'credit_stall', 'High', [0, 0, 0, 1], [0, 0, 0, 1], 0.5, now());
INSERT INTO events (fabric, time, interval_start, graph_version, rank, kind, device, port, region_id, job_id, detail, stored_at) VALUES ('old', toDateTime64(181, 9), toDateTime64(180, 3), 7, 0, 'region_born', '', '', 5, '', 'born', now());
