-- The links of a day, as they are kept since schema 18, and an interval that was stored again.
INSERT INTO link_days (fabric, metric, block, time, graph_version, made_of, measured, percent_sums, percent_maxima, rate_averages, rate_maxima, stored_at)
VALUES ('old', 'credit_stall', 0, toDateTime(86400), 7, 99, [1440, 0], [6000, 0], [1500, 0], [], [], now());
INSERT INTO intervals (fabric, time, graph_version, revision, duration_ms, links, measured, move_metrics, move_from, move_to, move_regions, stored_at)
VALUES ('again', toDateTime64(1080, 3), 7, 0, 60000, 2, map('inq_stall', 1), ['inq_stall'], [1], [2], [1], toDateTime64(2000, 6)),
    ('again', toDateTime64(1080, 3), 8, 1, 60000, 2, map('inq_stall', 1), ['inq_stall'], [1], [3], [2], toDateTime64(3000, 6));
INSERT INTO link_samples (fabric, metric, block, time, graph_version, revision, percents, rates, stored_at)
VALUES ('again', 'inq_stall', 0, toDateTime64(1080, 3), 7, 0, [100, NULL], [], now()), ('again', 'inq_stall', 0, toDateTime64(1080, 3), 8, 1, [200, NULL], [], now());
