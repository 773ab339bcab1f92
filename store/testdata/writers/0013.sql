-- A job twice, a failure, traffic and a diagnosis, as schema 13 has them.
INSERT INTO jobs (fabric, interval_start, graph_version, job_id, name, user, nodes, start, end, state, stored_at)
VALUES ('old', toDateTime64(780, 3), 7, '17', 'PSDNS', 'flow', ['a', 'b'], toDateTime64(781, 9), toDateTime64(0, 9), 'RUNNING', now()),
    ('old', toDateTime64(840, 3), 7, '17', 'PSDNS', 'flow', ['a', 'b'], toDateTime64(781, 9), toDateTime64(850, 9), 'COMPLETED', now());
INSERT INTO failures (fabric, interval_start, graph_version, time, kind, device, port, detail, stored_at)
VALUES ('old', toDateTime64(780, 3), 7, toDateTime64(782, 9), 'link_failed', 'a', 'X+', 'cable', now());
INSERT INTO job_traffic (fabric, interval_start, graph_version, job_id, time, read_bytes, write_bytes, rdma_read_bytes, rdma_write_bytes, stored_at)
VALUES ('old', toDateTime64(780, 3), 7, '17', toDateTime64(780, 9), 5, NULL, 0, NULL, now());
INSERT INTO diagnoses (fabric, time, graph_version, rank, region_id, metric, severity, mean, class, confidence, root_device, root_port, root_peer, root_kind,
    job_ids, blames, failure_kinds, failure_devices, failure_ports, victim_ids, action, text, document, stored_at)
VALUES ('old', toDateTime64(780, 3), 7, 0, 5, 'credit_stall', 'High', 31, 'system', 0.9, 'a', 'X+', 'b', 'link_capacity',
    ['17'], [0.8], [], [], [], ['18'], 'wait', 'why', '{"region":"5"}', now());
INSERT INTO mitigations (fabric, time, graph_version, begin, end, throttlings, congestion, stall_before, stall_after, alleviated, stored_at)
VALUES ('old', toDateTime64(780, 3), 7, toDateTime64(500, 9), toDateTime64(510, 9), 3, toDateTime64(480, 9), 900, 80.5, true, now());
