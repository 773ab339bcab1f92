-- Raw readings as they are kept since schema 6: a row for all of a port.
INSERT INTO port_readings (fabric, device, port, time, counters, values, interval_start, graph_version, stored_at)
VALUES ('old', 'a', 'X+', toDateTime64(361.5, 3), ['ib.symbol_error', 'new.thing'], [4, 5], toDateTime64(360, 3), 7, now());
INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, samples, dropped, stored_at)
VALUES ('old', toDateTime64(360, 3), 7, 60000, 2, map(), 2, map(), now64(6));
