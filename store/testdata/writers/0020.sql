-- A result with what the audit said of its signature, and a region with all of its root, as they are kept since schema 20.
INSERT INTO command_results (fabric, command_id, agent, status, kind, sequence, time, reason, output, verified, stored_at)
VALUES ('old', 'c20', 'n1', 'done', 'search', 0, toDateTime64(1200, 9), '', '', 'valid', now());
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links, odds_next, odds_later, growth_links, trend, root_device, root_port, root_link, root_peer, root_kind, revision, stored_at)
VALUES ('old', toDateTime64(1200, 3), 7, 0, 'credit_stall', 6, 'High', 1, 30, 30, 'n', [], [], toDateTime64(1200, 3), 1, [0], [], [], 0, 0, 'a', 'X+', 1, 'b', 'incast', 0, now());
