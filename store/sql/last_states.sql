-- The states of the stages after the last interval that has any and starts at an
-- instant or earlier, and has no newer revision than they are of. States from before
-- 0007 take the length of the interval from its own row.
WITH last AS
    (
        SELECT time, graph_version, revision FROM analysis_states
        WHERE fabric = {fabric:String} AND time <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')
            AND (time, revision) NOT IN
            (
                SELECT i.time, s.revision
                FROM intervals AS i
                INNER JOIN (SELECT DISTINCT time, revision FROM analysis_states WHERE fabric = {fabric:String}) AS s ON s.time = i.time
                WHERE i.fabric = {fabric:String} AND s.revision < i.revision
            )
        ORDER BY time DESC, revision DESC, stored_at DESC, graph_version
        LIMIT 1
    )
SELECT time, graph_version, stage, form, state,
    if(duration_ms > 0, duration_ms,
        (SELECT max(duration_ms) FROM intervals WHERE fabric = {fabric:String} AND (time, graph_version, revision) IN last)) AS duration
FROM analysis_states
WHERE fabric = {fabric:String} AND (time, graph_version, revision) IN last
ORDER BY stage
