-- A command and its result, as they are kept since schema 9.
INSERT INTO commands (fabric, id, digest, kind, principal, verified, targets, arguments, issued, expires, dry_run, signature, seen, stored_at)
VALUES ('old', 'c1', 7, 'agents.list', 'operator', 'valid', ['*'], '', toDateTime64(540, 9), toDateTime64(600, 9), false, 'sig', toDateTime64(541, 9), now());
INSERT INTO command_results (fabric, command_id, agent, status, time, reason, output, stored_at)
VALUES ('old', 'c1', 'n1', 'done', toDateTime64(542, 9), '', '{}', now());
