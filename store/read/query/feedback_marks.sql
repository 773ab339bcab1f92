-- The nodes that schedulers were asked to avoid and that have not been put back since, with the mark that stands.
SELECT sink, target, last.1 AS time, last.2 AS action, last.3 AS reason, last.4 AS score, last.5 AS before, last.6 AS after
FROM (
    SELECT sink, target, argMax((time, action, reason, score, before, after), time) AS last
    FROM feedback_audit
    WHERE fabric = {fabric:String} AND outcome = 'done' AND NOT dry_run AND action IN ('mark', 'reapply', 'relieve', 'release')
    GROUP BY sink, target
)
WHERE last.2 IN ('mark', 'reapply')
ORDER BY sink, target
