-- A run that probed a host, and a baseline, as they are kept since schema 17.
INSERT INTO hostping_runs (fabric, agent, run_id, status, time, principal, reason, trigger, mode, region_id, model, state, seconds, probes, bottlenecks, accused, confidences, sentence,
    rnics, endpoints, latency_us, gbps, baseline_latency_us, baseline_gbps, report, graph, stored_at)
VALUES ('old', 'n1', 'R1', 'done', toDateTime64(1000, 9), '', '', 'command', 'full', 5, 'm', 'idle', 12.5, 20, ['memory_channel_failure'], ['numa1'], [0.75], 'n1: slow',
    ['mlx5_0'], ['numa1'], [2.5], [60], [1.5], [100], '{}', '{}', now());
INSERT INTO hostping_baselines (fabric, model, agent, run_id, time, pairs, document, stored_at)
VALUES ('old', 'm', 'n1', 'R0', toDateTime64(990, 9), 1, '{}', now());
