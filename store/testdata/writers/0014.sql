-- An action of feedback, as it is kept since schema 14.
INSERT INTO feedback_audit (fabric, time, sink, action, target, dry_run, outcome, reason, score, before, after, stored_at)
VALUES ('old', toDateTime64(841, 9), 'slurm', 'mark', 'n1', false, 'done', 'why', 72.5, '1', '1000', now());
