-- The states of the stages after the last interval that has any and starts at an
-- instant or earlier. States from before 0007 take the length of the interval from
-- its own row.
WITH last AS
    (
        SELECT time, graph_version FROM analysis_states
        WHERE fabric = {fabric:String} AND time <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')
        ORDER BY time DESC, stored_at DESC, graph_version
        LIMIT 1
    )
SELECT time, graph_version, stage, form, state,
    if(duration_ms > 0, duration_ms,
        (SELECT max(duration_ms) FROM intervals WHERE fabric = {fabric:String} AND (time, graph_version) IN last)) AS duration
FROM analysis_states
WHERE fabric = {fabric:String} AND (time, graph_version) IN last
ORDER BY stage
