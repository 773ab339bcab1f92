-- A region of which links are not read, as it is kept since schema 21.
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links, odds_next, odds_later, growth_links, trend, root_device, root_port, root_link, root_peer, root_kind, unread, revision, stored_at)
VALUES ('old', toDateTime64(1260, 3), 7, 0, 'credit_stall', 7, 'High', 1, 30, 30, 'n', [], [], toDateTime64(1260, 3), 1, [0], [], [], 0, 0, 'a', 'X+', 1, 'b', 'incast', 4, 0, now());
