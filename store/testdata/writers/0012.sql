-- A region with its root, as schema 12 has it.
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links,
    odds_next, odds_later, growth_links, trend, root_device, root_port, root_link, stored_at)
VALUES ('old', toDateTime64(720, 3), 7, 0, 'credit_stall', 5, 'High', 1, 31, 31, '(0) 1', [0], [0], toDateTime64(181, 9), 3, [0], [], [], 0, 0, 'a', 'X+', 1, now());
