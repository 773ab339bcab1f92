-- An interval as it was stored under schema 2.
INSERT INTO link_samples (fabric, metric, block, time, graph_version, percents, rates, stored_at) VALUES ('old', 'credit_stall', 0, toDateTime64(120, 3), 7, [1250, NULL], [], now());
INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at)
VALUES ('old', toDateTime64(120, 3), 7, 60000, 2, map('credit_stall', 1), 4, map('late', 1), 0, 0, 0, toDateTime64(121, 9), toDateTime64(179, 9), now64(6));
