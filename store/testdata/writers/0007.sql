-- The states of two stages, as they are kept since schema 7.
INSERT INTO analysis_states (fabric, time, graph_version, duration_ms, stage, form, state, stored_at)
VALUES ('old', toDateTime64(420, 3), 7, 60000, 'track', 2, 'tracked', now()), ('old', toDateTime64(420, 3), 7, 60000, 'hotspots', 1, 'hot', now());
