-- What feedback did in a span, the newest first.
SELECT time, sink, action, target, dry_run, outcome, reason, score, before, after
FROM feedback_audit
WHERE fabric = {fabric:String} AND time >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY time DESC, sink, target, action, outcome
LIMIT {rows:UInt32}
