-- An interval whose network state is not known, as schema 10 has them.
INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at, unknown, unknown_since)
VALUES ('old', toDateTime64(600, 3), 7, 60000, 2, map('credit_stall', 1), 4, map(), 0, 0, 0, toDateTime64(601, 9), toDateTime64(629, 9), now64(6), 'low_coverage', toDateTime64(540, 3));
