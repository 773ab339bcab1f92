package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/schema"
)

// Fabric is the name of the fabric that is filled.
const Fabric = "bench"

// Config says how much data to generate.
type Config struct {
	Days        int    // of regions, and of links by hours
	MinutesDays int    // the last of them with links by five minutes
	RawDays     int    // the last of them with links by intervals
	Jobs        int    // in total
	Seed        uint64 // the same seed makes the same data, except for the noise of links
}

// firstInterval is the start of the first interval.
var firstInterval = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// load fills an empty, migrated database; it calls progress with the name of each step.
func load(ctx context.Context, conn driver.Conn, cfg Config, progress func(string)) error {
	rng := rand.New(rand.NewPCG(cfg.Seed, 1))
	s := tell(rng, cfg.Days)
	progress(fmt.Sprintf("%d regions' segments over %d days", len(s.segments), cfg.Days))
	if err := insertSegments(ctx, conn, s.segments); err != nil {
		return err
	}
	for _, statement := range regionStatements {
		if err := perMonth(ctx, conn, statement, cfg.Days); err != nil {
			return err
		}
	}
	progress("intervals")
	if err := insertIntervals(ctx, conn, &s); err != nil {
		return err
	}
	progress("jobs, failures, diagnoses")
	for _, statement := range factStatements {
		if err := conn.Exec(ctx, statement, clickhouse.Named("days", cfg.Days), clickhouse.Named("jobs", cfg.Jobs)); err != nil {
			return fmt.Errorf("%.60q: %w", statement, err)
		}
	}
	return nil
}

// perMonth runs a statement for the minutes of 30 days at a time, to limit its
// memory.
func perMonth(ctx context.Context, conn driver.Conn, statement string, days int) error {
	for day := 0; day < days; day += 30 {
		err := conn.Exec(ctx, statement, clickhouse.Named("from", day*minutesOfDay), clickhouse.Named("to", min(day+30, days)*minutesOfDay))
		if err != nil {
			return fmt.Errorf("day %d: %.60q: %w", day, statement, err)
		}
	}
	return nil
}

func insertSegments(ctx context.Context, conn driver.Conn, segments []segment) error {
	const create = `CREATE TABLE IF NOT EXISTS segments (metric String, slot UInt32, id UInt64, birth UInt32, start UInt32, length UInt32, severity Int8, size UInt32, mean Float64, base UInt32)
		ENGINE = MergeTree ORDER BY start`
	if err := conn.Exec(ctx, create); err != nil {
		return err
	}
	for len(segments) > 0 {
		n := min(len(segments), 100_000)
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO segments")
		if err != nil {
			return err
		}
		for _, g := range segments[:n] {
			if err := batch.Append(g.metric.String(), uint32(g.slot), g.id, uint32(g.birth), uint32(g.start), uint32(g.length), int8(g.severity), uint32(g.size), g.mean, uint32(g.base)); err != nil {
				return err
			}
		}
		if err := batch.Send(); err != nil {
			return err
		}
		segments = segments[n:]
	}
	return nil
}

const minuteTime = `toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalMinute(minute)`

// regionStatements derive regions from segments, and network states from regions.
var regionStatements = []string{`
INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, birth, age_intervals, links, odds_next, odds_later, growth_links, trend, stored_at)
SELECT '` + Fabric + `', ` + minuteTime + `, 1, slot, metric, id, CAST(severity, 'Enum8(\'Neg\' = 0, \'Low\' = 1, \'Medium\' = 2, \'High\' = 3)'), size, mean + (minute % 7) / 10, mean * 1.5, concat('near link ', toString(base)),
	toDateTime64('2026-01-01 00:00:00', 9, 'UTC') + toIntervalMinute(birth), minute - birth, range(base, base + size),
	[[5, 235, 8, 2, 0], [5, 235, 8, 2, 0], [2, 35, 200, 10, 3], [1, 3, 30, 215, 1]][severity + 1], [[5, 235, 8, 2, 0], [10, 215, 15, 5, 5], [6, 70, 140, 28, 6], [3, 12, 60, 170, 5]][severity + 1], 0, 0, now()
FROM (SELECT *, start + arrayJoin(range(length)) AS minute FROM segments WHERE start >= {from:UInt32} AND start < {to:UInt32})`, `
INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, region_links, coverage, stored_at)
SELECT '` + Fabric + `', ` + minuteTime + `, 1, m.metric, CAST(max(r.severity), 'Enum8(\'Neg\' = 0, \'Low\' = 1, \'Medium\' = 2, \'High\' = 3)'),
	[0, countIf(r.severity = 1), countIf(r.severity = 2), countIf(r.severity = 3)], [0, sumIf(r.size, r.severity = 1), sumIf(r.size, r.severity = 2), sumIf(r.size, r.severity = 3)], 1, now()
FROM (SELECT toUInt32(number) AS minute, arrayJoin(['credit_stall', 'inq_stall']) AS metric FROM numbers({from:UInt32}, {to:UInt32} - {from:UInt32})) AS m
LEFT JOIN (SELECT metric, severity, size, toUInt32(start + arrayJoin(range(length))) AS minute FROM segments WHERE start + 20 >= {from:UInt32} AND start < {to:UInt32}) AS r ON r.minute = m.minute AND r.metric = m.metric
GROUP BY minute, m.metric`}

// factStatements generate jobs of one to 2,000 switches, throttling events, failures, and
// diagnoses of regions.
var factStatements = []string{`
INSERT INTO fabrics (fabric, graph_version, valid_from, duplex, grid_dims, grid_wrap, devices, links, stored_at)
SELECT '` + Fabric + `', 1, toDateTime64('2025-12-31 00:00:00', 9, 'UTC'), true, [24, 24, 24], true, 13824, 41472, now64(6)`, `
INSERT INTO links (fabric, graph_version, link, from_device, from_port, to_device, to_port, class, capacity, dim, coord, up)
WITH intDiv(number, 3) AS s, [s % 24, intDiv(s, 24) % 24, intDiv(s, 576)] AS at, number % 3 AS d, arrayMap((c, i) -> if(i = d + 1, (c + 1) % 24, c), at, [1, 2, 3]) AS beyond
SELECT '` + Fabric + `', 1, number, arrayStringConcat(arrayMap(c -> toString(c), at), ','), ['X+', 'Y+', 'Z+'][d + 1], arrayStringConcat(arrayMap(c -> toString(c), beyond), ','), ['X-', 'Y-', 'Z-'][d + 1],
	'', 9.4e9, d, at, true
FROM numbers(41472)`, `
INSERT INTO jobs (fabric, job_id, name, user, nodes, start, end, state, interval_start, graph_version, revision, stored_at)
WITH cityHash64(number) AS h, number % 40 AS app, if(h % 100 < 74, 1, toUInt32(exp2(1 + intDiv(h, 100) % 10))) AS size, toUInt32({days:UInt32} * 1440 * 60 / {jobs:UInt32} * number) AS began,
	toUInt32(600 + (app + 1) * 400 * exp((intDiv(h, 7) % 1000 - 500) / 1000)) AS run, intDiv(h, 11) % (13824 - size) AS first
SELECT '` + Fabric + `', toString(number), concat('app', toString(app)), concat('user', toString(app % 7)),
	arrayMap(s -> concat(toString(s % 24), ',', toString(intDiv(s, 24) % 24), ',', toString(intDiv(s, 576))), range(first, first + size)),
	toDateTime64('2026-01-01 00:00:00', 9, 'UTC') + toIntervalSecond(began), toDateTime64('2026-01-01 00:00:00', 9, 'UTC') + toIntervalSecond(began + run), 'COMPLETED',
	toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalSecond(began), 1, 0, now()
FROM numbers({jobs:UInt32})`, `
INSERT INTO failures (fabric, time, kind, device, port, detail, interval_start, graph_version, revision, stored_at)
SELECT '` + Fabric + `', toDateTime64('2026-01-01 00:00:00', 9, 'UTC') + toIntervalMinute(at) AS t, kind, if(kind = 'link_failed', '3,4,5', ''), if(kind = 'link_failed', 'X+', ''), '', t, 1, 0, now()
FROM
(
	SELECT cityHash64(number) % ({days:UInt32} * 1440) + arrayJoin(range(1 + cityHash64(number, 1) % 3)) AS at, 'congestion_protection' AS kind FROM numbers(intDiv(261 * {days:UInt32}, 150))
	UNION ALL
	SELECT cityHash64(number, 2) % ({days:UInt32} * 1440) AS at, 'link_failed' AS kind FROM numbers(intDiv({days:UInt32} * 24 * 10, 592))
)`, `
INSERT INTO diagnoses (fabric, time, graph_version, rank, region_id, metric, severity, mean, class, confidence, job_ids, blames, action, text, document, revision, stored_at)
SELECT fabric, time, graph_version, rank, region_id, metric, severity, mean, ['system', 'system', 'failure', 'intra_application', 'slow_host', 'unknown'][1 + region_id % 6] AS class, .9,
	if(class = 'unknown', [], [toString(region_id % 1000)]), if(class = 'unknown', [], [.8]), '', '', '', 0, now()
FROM regions WHERE fabric = '` + Fabric + `' AND severity >= 'Medium'`}

// insertIntervals writes the rows of intervals, including three outages without
// measurements and some intervals that were stored twice.
func insertIntervals(ctx context.Context, conn driver.Conn, s *story) error {
	for from := 0; from < len(s.minutes); from += 20_000 {
		batch, err := conn.PrepareBatch(ctx, `INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, samples, dropped, regions, events, raw, first_read, last_read,
			stored_at, network_next, rce_begin, rce_end, rce_peak, move_metrics, move_from, move_to, move_regions, spell_metrics, spell_thresholds, spell_intervals, spell_links, unknown, revision)`)
		if err != nil {
			return err
		}
		for at := from; at < min(from+20_000, len(s.minutes)); at++ {
			for revision := range uint32(1 + (1000-at%1001)/1000) {
				if err := batch.Append(intervalRow(at, revision, &s.minutes[at], len(s.minutes))...); err != nil {
					return err
				}
			}
		}
		if err := batch.Send(); err != nil {
			return err
		}
	}
	return conn.Exec(ctx, "INSERT INTO regions SELECT * REPLACE (1 AS revision) FROM regions WHERE intDiv(toUnixTimestamp(time) - 1767225600, 60) % 1001 = 0")
}

func intervalRow(at int, revision uint32, f *minuteFacts, n int) []any {
	instant := func(minute int) time.Time { return firstInterval.Add(time.Duration(minute) * time.Minute) }
	begin, end, peak := time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC(), float32(0)
	if f.begin >= 0 {
		begin, end, peak = instant(f.begin), instant(f.end), float32(f.peak)
	}
	var metrics, spellMetrics []string
	var from, to []uint8
	var regions, intervals, links []uint32
	var thresholds []float32
	for t, k := range f.moves {
		metrics, from, to, regions = append(metrics, t.Metric.String()), append(from, uint8(t.From)), append(to, uint8(t.To)), append(regions, k)
	}
	for _, e := range f.episodes {
		spellMetrics = append(spellMetrics, schema.CreditStall.String())
		thresholds, intervals, links = append(thresholds, e.threshold), append(intervals, e.intervals), append(links, e.links)
	}
	measured, unknown := map[string]uint32{"credit_stall": Links, "inq_stall": Links}, ""
	if away := at % max(n/3, 1); away < 100 && at > 0 {
		measured, unknown = map[string]uint32{}, string(schema.NothingMeasured)
	}
	return []any{Fabric, instant(at), uint64(1), uint32(60_000), uint32(Links), measured, uint64(2 * Links), map[string]uint64{}, uint32(0), uint32(0), uint64(0), instant(at), instant(at + 1),
		instant(at + 1).Add(time.Duration(revision) * time.Hour), []uint8{5, 20, 25, 200, 0}, begin, end, peak, metrics, from, to, regions, spellMetrics, thresholds, intervals, links, unknown, revision}
}
