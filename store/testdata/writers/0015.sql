-- A search and what it found, as they are kept since schema 15.
INSERT INTO search_steps (fabric, search_id, agent, status, sequence, time, principal, reason, region_id, engine, adapter, algorithm, peers, seed, budget,
    nic_model, board, firmware, cpu, pcie, nps, kernel, experiments, failed, seconds, gigabytes, anomalies, stored_at)
VALUES ('old', 'S1', 'n1', 'progress', 2, toDateTime64(900, 9), '', '', 5, 'rig', 'mlx5_0', 'lift', ['n2'], 7, 100,
    'MT4129', 'MT_0000000838', '28.39.1002', 'EPYC', '32.0 GT/s x16', 4, '6.1', 40, 1, 1200.5, 300.25, 1, now());
INSERT INTO search_findings (fabric, search_id, agent, experiment, revised, time, symptom, workload, mfs, nic_model, board, firmware, cpu, pcie, nps, kernel, stored_at)
VALUES ('old', 'S1', 'n1', 12, 0, toDateTime64(901, 9), 'pause', '{"qps":320}', '{"qps":{"min":320}}', 'MT4129', 'MT_0000000838', '28.39.1002', 'EPYC', '32.0 GT/s x16', 4, '6.1', now());
INSERT INTO host_hardware (fabric, agent, adapter, time, device, nic_model, board, firmware, cpu, pcie, nps, kernel, stored_at)
VALUES ('old', 'n1', 'mlx5_0', toDateTime64(902, 9), 'n1 HCA-1', 'MT4129', 'MT_0000000838', '28.39.1002', 'EPYC', '32.0 GT/s x16', 4, '6.1', now());
