-- A roll-up of an hour, as it is kept since schema 16.
INSERT INTO hour_counts (fabric, time, graph_version, made_of, kind, metric, x, y, n, total, other, stored_at)
VALUES ('old', toDateTime(3600), 7, 99, 'region_size', 'credit_stall', 3, 32, 60, 115200000, 0, now());
INSERT INTO region_hours (fabric, time, graph_version, made_of, metric, region_id, severity, first, last, last_ms, intervals, max_size, max_mean, links, stored_at)
VALUES ('old', toDateTime(3600), 7, 99, 'credit_stall', 5, 'High', toDateTime64(3600, 3), toDateTime64(7140, 3), 60000, 60, 32, 31.5, [0, 1], now());
INSERT INTO link_minutes (fabric, metric, block, time, graph_version, made_of, measured, percent_sums, percent_maxima, rate_averages, rate_maxima, stored_at)
VALUES ('old', 'credit_stall', 0, toDateTime(3600), 7, 99, [5, 0], [6000, 0], [1500, 0], [], [], now());
INSERT INTO link_hours (fabric, metric, block, time, graph_version, made_of, measured, percent_sums, percent_maxima, rate_averages, rate_maxima, stored_at)
VALUES ('old', 'throughput', 0, toDateTime(3600), 7, 99, [60, 0], [], [], [1000, 0], [2000, 0], now());
INSERT INTO rollups (fabric, time, made_of, samples, stored_at) VALUES ('old', toDateTime(3600), 99, true, now());
