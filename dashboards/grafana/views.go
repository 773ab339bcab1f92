package grafana

// ofFabric selects the chosen fabric; Grafana quotes its name.
const ofFabric = "fabric = ${fabric:sqlstring}"

// inSpan selects its rows in the displayed time range.
const inSpan = ofFabric + " AND $__timeFilter(time)"

// asHeld selects the current revision of each interval, in a table keyed by interval.
const asHeld = "(fabric, time, graph_version, revision) IN (SELECT fabric, time, graph_version, revision FROM giverny.current_intervals WHERE " + inSpan + ")"

// live shows the present.
var live = []view{
	{title: "Regions by severity", kind: "timeseries", unit: "short", width: 16, stacked: true,
		sql: "SELECT time, severity, count() AS regions" +
			" FROM giverny.regions WHERE " + inSpan + " AND " + asHeld + " GROUP BY time, severity ORDER BY time"},
	{title: "Links measured", kind: "timeseries", unit: "percentunit", width: 8, expressions: [][2]string{{`giverny_coverage_ratio{fabric="$fabric"}`, "{{metric}}"}}},
	{title: "Regions now", kind: "table", unit: "short", width: 16,
		sql: "SELECT region_id, severity, metric, name, size AS links, round(mean, 1) AS mean_percent, round(max, 1) AS max_percent, birth, root_device, root_port" +
			" FROM giverny.regions WHERE " + ofFabric +
			" AND (time, graph_version, revision) = (SELECT time, graph_version, revision FROM giverny.intervals WHERE " + ofFabric + " ORDER BY time DESC, revision DESC, stored_at DESC LIMIT 1) ORDER BY mean DESC"},
	{title: "Events", kind: "table", unit: "short", width: 8,
		sql: "SELECT time, kind, device, port, detail FROM giverny.events WHERE " + inSpan + " ORDER BY time DESC LIMIT 200"},
	{title: "Diagnoses", about: "Causes of regions at Low or above, the latest diagnosis of each region.", kind: "table", unit: "short", width: 16,
		sql: "SELECT max(time) AS last, region_id, argMax(severity, time) AS severity, argMax(class, time) AS class, round(argMax(confidence, time), 2) AS confidence," +
			" argMax(job_ids, time) AS jobs, argMax(root_device, time) AS root, argMax(action, time) AS action, argMax(text, time) AS text" +
			" FROM giverny.diagnoses WHERE " + inSpan + " AND " + asHeld + " GROUP BY region_id ORDER BY last DESC LIMIT 100"},
	{title: "Causes", kind: "timeseries", unit: "short", width: 8, stacked: true,
		sql: "SELECT toStartOfFiveMinutes(time) AS at, class, uniq(region_id) AS regions" +
			" FROM giverny.diagnoses WHERE " + inSpan + " AND " + asHeld + " GROUP BY at, class ORDER BY at"},
	{title: "Accused jobs", kind: "table", unit: "short", width: 12,
		sql: "SELECT job, uniq(region_id) AS regions, count() AS diagnoses, round(avg(blame), 2) AS blame" +
			" FROM giverny.diagnoses ARRAY JOIN job_ids AS job, blames AS blame WHERE " + inSpan + " AND " + asHeld + " GROUP BY job ORDER BY diagnoses DESC LIMIT 20"},
	{title: "Searches of NICs", about: "The latest step of each.", kind: "table", unit: "short", width: 12,
		sql: "SELECT search_id, agent, argMax(status, sequence) AS status, max(time) AS last," +
			" argMax(algorithm, sequence) AS algorithm, max(experiments) AS experiments, max(anomalies) AS anomalies, argMax(nic_model, sequence) AS nic" +
			" FROM giverny.search_steps WHERE " + inSpan + " GROUP BY search_id, agent ORDER BY last DESC LIMIT 50"},
	{title: "From counter to store", kind: "timeseries", unit: "s", width: 8,
		sql: "SELECT time, date_diff('millisecond', last_read, stored_at) / 1000 AS seconds" +
			" FROM giverny.intervals WHERE " + inSpan + " ORDER BY time"},
	{title: "Dropped, by reason", kind: "timeseries", unit: "short", width: 8, expressions: [][2]string{{`rate(giverny_analyse_dropped_total{fabric="$fabric"}[5m]) > 0`, "{{reason}}"}}},
	{title: "Kafka lag", kind: "timeseries", unit: "short", width: 8, expressions: [][2]string{{`giverny_kafka_lag_records{fabric="$fabric"}`, "{{topic}}"}}},
	{title: "Skill of the forecasts (Brier score, lower is better)", kind: "timeseries", unit: "short", width: 12,
		expressions: [][2]string{{`giverny_tracking_brier_score{fabric="$fabric"}`, "forecast, {{intervals_ahead}} ahead"},
			{`giverny_tracking_persistence_brier_score{fabric="$fabric"}`, "persistence, {{intervals_ahead}} ahead"}}},
	{title: "Congestion event", kind: "timeseries", unit: "short", width: 4, expressions: [][2]string{{`giverny_tracking_congestion_event{fabric="$fabric"}`, ""}}},
	{title: "Hot for longest", kind: "timeseries", unit: "s", width: 8, expressions: [][2]string{{`giverny_tracking_longest_hot_seconds{fabric="$fabric"}`, ""}}},
}

// counts is a query for a kind of counts in the time range, from the newest roll-up of each hour.
func counts(columns, kind, rest string) string {
	return "SELECT " + columns + " FROM giverny.hour_counts AS c INNER JOIN (SELECT fabric, time, argMax(made_of, stored_at) AS made_of FROM giverny.rollups WHERE " + ofFabric +
		" AND $__timeFilter(time) GROUP BY fabric, time) AS r ON r.fabric = c.fabric AND r.time = c.time AND r.made_of = c.made_of WHERE c." + ofFabric + " AND c.kind = '" + kind + "' AND $__timeFilter(c.time) " + rest
}

const severityOf = "['unknown', 'Neg', 'Low', 'Medium', 'High'][x + 2]"

// history shows months, from the roll-ups.
var history = []view{
	{title: "State of the network, hours of a day", about: "Monet, figure 6: the state of the worst region by any metric. The current hour is not rolled up yet.", kind: "timeseries", unit: "h", width: 24, stacked: true,
		sql: counts("toStartOfDay(c.time) AS day, "+severityOf+" AS state, sum(total) / 3600000 AS hours",
			"network_state", "AND metric = '' GROUP BY day, state ORDER BY day")},
	{title: "Regions by links (Monet, figure 5a)", kind: "table", unit: "short", width: 8,
		sql: counts(severityOf+" AS severity, roundToExp2(toUInt64(y)) AS links_from, sum(n) AS regions", "region_size", "GROUP BY x, severity, links_from ORDER BY x, links_from")},
	{title: "Transitions of the network (Monet, figure 6)", kind: "table", unit: "short", width: 8,
		sql: counts("x AS state_from, y AS state_to, sum(n) AS transitions, round(transitions / sum(transitions) OVER (PARTITION BY x), 3) AS probability",
			"network_transition", "AND metric = '' GROUP BY x, y ORDER BY x, y")},
	{title: "Hot episodes (Monet, figure 3)", kind: "table", unit: "short", width: 8,
		sql: counts("metric, x / 100 AS threshold_percent, sum(n) AS episodes, quantileExactWeighted(0.5)(y, n) / 60000 AS median_minutes,"+
			" quantileExactWeighted(0.999)(y, n) / 60000 AS p999_minutes",
			"hot_episode", "GROUP BY metric, x ORDER BY metric, x")},
	{title: "Congestion events, minutes (Monet, figure 10)", kind: "timeseries", unit: "m", width: 12,
		sql: counts("toDateTime(intDiv(x, 1000)) AS begin, (max(y) - x) / 60000 AS minutes", "congestion", "AND metric = '' GROUP BY x ORDER BY x")},
	{title: "Skill of the forecasts by day", about: "Mean Brier score, lower is better, compared with that of persistence.", kind: "timeseries", unit: "short", width: 12,
		sql: counts("toStartOfDay(c.time) AS day, concat('ahead ', toString(x)) AS ahead, sum(total) / sum(n) AS forecast,"+
			" sum(other) / sum(n) AS persistence",
			"forecast", "GROUP BY day, x, ahead ORDER BY day")},
	{title: "Link time in regions, % by day", about: "Of the time in which the state of the network was known.", kind: "timeseries", unit: "percent", width: 12, stacked: true,
		sql: "SELECT day, " + severityOf + " AS severity, percent FROM (SELECT day, x, 100 * sum(spent) / any(whole) AS percent FROM (" +
			counts("toStartOfDay(c.time) AS day, x, sum(total) AS spent", "region_size", "AND x > 0 GROUP BY day, x") + ") AS s INNER JOIN (" +
			counts("toStartOfDay(c.time) AS day, sum(total * (n - x) / n) AS whole", "link_time", "GROUP BY day") + ") AS w ON w.day = s.day GROUP BY day, x) ORDER BY day"},
	{title: "Causes by day", kind: "timeseries", unit: "short", width: 12, stacked: true,
		sql: counts("toStartOfDay(c.time) AS day, metric AS class, uniqExact(x) AS regions", "cause", "GROUP BY day, class ORDER BY day")},
	{title: "Mitigation events", kind: "table", unit: "short", width: 12,
		sql: "SELECT begin, end, throttlings, round(stall_before) AS stall_before, round(stall_after) AS stall_after, alleviated" +
			" FROM giverny.mitigations WHERE " + ofFabric + " AND $__timeFilter(begin) ORDER BY begin DESC LIMIT 100"},
	{title: "Failures", kind: "table", unit: "short", width: 12,
		sql: "SELECT time, kind, device, port, detail FROM giverny.failures WHERE " + inSpan + " ORDER BY time DESC LIMIT 100"},
}
