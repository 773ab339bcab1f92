-- An interval in its first and second revision, as they are kept since schema 11.
INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, region_links, coverage, stored_at, revision)
VALUES ('old', toDateTime64(660, 3), 7, 'inq_stall', 'Neg', [0, 0, 0, 0], [0, 0, 0, 0], 0.5, now(), 0), ('old', toDateTime64(660, 3), 7, 'inq_stall', 'Low', [0, 1, 0, 0], [0, 1, 0, 0], 1, now(), 1);
