-- The commands that were put into Kafka in a span, each once: a takeover may have stored one twice.
SELECT id, kind, principal, verified, targets, arguments, issued, expires, dry_run, signature, seen
FROM commands
WHERE fabric = {fabric:String} AND seen >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND seen < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
ORDER BY seen, id, digest
LIMIT 1 BY id, digest
