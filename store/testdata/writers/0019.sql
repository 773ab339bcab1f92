-- A diagnosed collective, as it is kept since schema 19.
INSERT INTO collective_runs (fabric, job_id, run_id, agent, time, begin, end, format, ranks, iterations, makespan_ns, expected_ns, classes, flows, objects, costs_ns, confidences, stopped_ranks, text, document, stored_at)
VALUES ('old', '17', 'collective.17.x', 'n1', toDateTime64(1200, 9), toDateTime64(1100, 9), toDateTime64(1101, 9), 'simulated', 8, 3, 1000000000, 900000000,
    ['background_flow'], ['h1->h2'], ['switch 3 port 1'], [100000000], [0.9], [2], 'slow', '{}', now());
