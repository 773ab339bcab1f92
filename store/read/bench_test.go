//go:build engine || integration

package read

import (
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// aDay fills the store with a day of credit stall of a 24x24x24 torus: an
// exponential background of 1% under slow waves, Gaussian noise of 0.2 points,
// one group of links in 150 congested at 8 to 38% for 90 minutes, one value in a
// thousand missing.
func aDay(b *testing.B, m testModel) {
	b.Helper()
	for _, statement := range []string{`
		INSERT INTO link_samples
		WITH 170 * block AS x, intDiv(minute, 90) AS shift, cityHash64(block, shift) % 150 = 0 AS hot
		SELECT 'bw', 'credit_stall', block, toDateTime64('2026-03-01 00:00:00', 3, 'UTC') + toIntervalMinute(minute), 1,
			arrayMap(l -> if(rand(l) % 1000 = 0, NULL, toUInt16(100 * least(100, greatest(0,
				-log(1 - randCanonical(l)) * (1 + 0.6 * sin(6.2832 * (minute / 360 + x / 3456)))
				+ if(hot AND l < 48, 8 + cityHash64(block, shift, 1) % 30, 0)
				+ 0.2 * sqrt(-2 * log(1 - randCanonical(l + 1))) * cos(6.2832 * randCanonical(l + 2)))))),
				range(512)), [], now()
		FROM (SELECT intDiv(number, 81) AS minute, number % 81 AS block FROM numbers(1440 * 81))
		SETTINGS max_block_size = 8100, max_threads = 1`,
		`INSERT INTO intervals SELECT 'bw', toDateTime64('2026-03-01 00:00:00', 3, 'UTC') + toIntervalMinute(number), 1, 60000, 41472,
			map('credit_stall', 41400), 41472, map(), 0, 0, 0, 0, 0, now64(6) FROM numbers(1440)`,
		`OPTIMIZE TABLE link_samples FINAL`,
	} {
		if err := m.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	m, ctx := newModel(b), b.Context()
	aDay(b, m)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	day := Span{schema.Instant(start), schema.Instant(start + 1440*minute)}
	noon := Stored{Interval: schema.Interval{StartNanos: start + 797*minute, DurationNanos: minute}, GraphVersion: 1, Links: 41472, Measured: map[schema.Metric]int{stall: 41400}}
	for name, ask := range map[string]func() error{
		"LinkSeries/day":       func() error { _, err := m.Figures("bw", day).LinkSeries(ctx, 1, stall, 20000); return err },
		"Snapshot/links=41472": func() error { _, err := m.Snapshot(ctx, "bw", noon); return err },
		"TopLinks/day":         func() error { _, err := m.Figures("bw", day).TopLinks(ctx, 1, stall, 20); return err },
		"link_values/day": func() error {
			return m.conn.Exec(ctx, "SELECT link, max(value) FROM link_values WHERE fabric = 'bw' AND metric = 'credit_stall' AND value > 30 GROUP BY link FORMAT Null")
		},
		"LastStored": func() error { _, err := m.LastStored(ctx, "bw"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// months fills the store with the tracking results of 150 days of minutes: 40
// regions that live for 25 minutes on average, with their odds and transitions,
// and 40 completed episodes and 20 hot links in each interval.
func months(b *testing.B, m testModel) Span {
	b.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, statement := range []string{`
		INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, birth, age_intervals, links,
			odds_next, odds_later, growth_links, trend, stored_at)
		WITH intDiv(minute + 7 * rank, 25) * 64 + rank + 1 AS id, cityHash64(id, intDiv(minute, 3)) AS h, 5 + h % 40 + rand(1) % 100 / 100 AS level,
			h % 100 AS a, rand(2) % 20 AS c
		SELECT 'bw', toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalMinute(minute), 1, rank, 'credit_stall', id,
			multiIf(level >= 25, 'High', level >= 15, 'Medium', 'Low'), 60, level, level * 1.5, 'a place', 0, 1, range(toUInt32(70 * rank), toUInt32(70 * rank + 60)),
			[toUInt8(a % 20), toUInt8(a), toUInt8(100 - a), toUInt8(130 - a % 20 - c), toUInt8(20 + c)], [toUInt8(a), toUInt8(50), toUInt8(80 - a % 30), toUInt8(50 + a % 30 - c), toUInt8(70 - a + c)],
			h % 5 = 0, rand(3) % 1000 / 500, now()
		FROM (SELECT intDiv(number, 40) AS minute, number % 40 AS rank FROM numbers(150 * 1440 * 40))`,
		`INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, network_next, network_later, rce_begin, rce_end, rce_peak,
			move_metrics, move_from, move_to, move_regions, spell_metrics, spell_thresholds, spell_intervals, spell_links, hot_metrics, hot_links, hot_since, stored_at)
		WITH toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalMinute(number) AS at
		SELECT 'bw', at, 1, 60000, 41472, [5, 20, 25, 200, 0], [10, 30, 40, 170, 0], at - toIntervalMinute(number % 90), at, 40 + number % 20,
			arrayMap(i -> 'credit_stall', range(8)), [1, 1, 2, 2, 3, 3, 4, 3], [1, 2, 2, 3, 3, 2, 1, 4], arrayMap(i -> toUInt32(rand(i) % 10), range(8)),
			arrayMap(i -> 'credit_stall', range(40)), arrayMap(i -> toFloat32([5, 10, 15, 20, 25, 30, 40, 50][i % 8 + 1]), range(40)),
			arrayMap(i -> toUInt32(exp(rand(i) % 1000 / 200)), range(40)), arrayMap(i -> toUInt32(1 + rand(i + 50) % 5), range(40)),
			arrayMap(i -> 'credit_stall', range(20)), arrayMap(i -> toUInt32(cityHash64(i, intDiv(number, 20)) % 41472), range(20)),
			arrayMap(i -> at - toIntervalMinute(40 - 2 * i), range(20)), now64(6)
		FROM numbers(150 * 1440)`,
		`OPTIMIZE TABLE regions FINAL`, `OPTIMIZE TABLE intervals FINAL`,
	} {
		if err := m.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return Span{schema.InstantOf(start), schema.InstantOf(start) + schema.Instant(150*1440*minute)}
}

// BenchmarkTrackingQuery queries five months, or a day of them, and reports the disk space of the
// columns of tracking per interval.
func BenchmarkTrackingQuery(b *testing.B) {
	m, ctx := newModel(b), b.Context()
	span := months(b, m)
	var bytes uint64
	if err := m.conn.QueryRow(ctx, `SELECT sum(column_data_compressed_bytes) FROM system.parts_columns WHERE active AND database = currentDatabase()
		AND match(column, '^(odds_|growth_links|trend|network_|rce_|move_|spell_|hot_)')`).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"RegionTransitions": func() error { _, err := m.Figures("bw", span).RegionTransitions(ctx, schema.CreditStall); return err },
		"HotEpisodes":       func() error { _, err := m.Figures("bw", span).HotEpisodes(ctx, schema.CreditStall); return err },
		"Congestion":        func() error { _, err := m.Figures("bw", span).Congestion(ctx); return err },
		"ForecastSkill":     func() error { _, err := m.Figures("bw", span).ForecastSkill(ctx); return err },
		"ForecastSkill/day": func() error {
			_, err := m.Figures("bw", Span{span.To - schema.Instant(1440*minute), span.To}).ForecastSkill(ctx)
			return err
		},
		"Network/day": func() error {
			_, err := m.Network(ctx, "bw", Span{span.To - schema.Instant(1440*minute), span.To})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(bytes)/(150*1440), "bytes/interval")
		})
	}
}
