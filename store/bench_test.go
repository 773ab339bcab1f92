package store

import (
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// stallResult is an interval of a 24x24x24 torus: credit and inq stall of 41,472
// links and a few dozen regions.
func stallResult(n int64) *schema.IntervalResult {
	r := someResult("bw", n, 41472)
	r.Snapshot.Series = r.Snapshot.Series[:2]
	region := r.Regions[0]
	region.Links = nil
	for l := range schema.LinkID(200) {
		region.Links = append(region.Links, 3*l)
	}
	for len(r.Regions) < 40 {
		r.Regions = append(r.Regions, region)
	}
	return r
}

// BenchmarkStore stores intervals as fast as the embedded engine takes them, its
// merges included.
func BenchmarkStore(b *testing.B) {
	b.Run("links=41472", func(b *testing.B) {
		db := migratedDB(b)
		var took []time.Duration
		for n := int64(1); b.Loop(); n++ {
			b.StopTimer()
			r := stallResult(n)
			b.StartTimer()
			began := time.Now()
			if err := db.Store(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
		b.ReportMetric(41472*2*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		b.ReportMetric(bytesPerSample(b, db), "bytes/sample")
	})
}

// aDay fills the store with a day of credit stall of a 24x24x24 torus: an
// exponential background of 1% under slow waves, Gaussian noise of 0.2 points,
// one group of links in 150 congested at 8 to 38% for 90 minutes, one value in a
// thousand missing.
func aDay(b *testing.B, db testDB) {
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
		if err := db.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	db, ctx, m := migratedDB(b), b.Context(), schema.CreditStall
	aDay(b, db)
	stored := bytesPerSample(b, db)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	day := Span{start, start + 1440*minute}
	for name, ask := range map[string]func() error{
		"LinkSeries/day":       func() error { _, err := db.LinkSeries(ctx, "bw", m, 20000, day); return err },
		"Snapshot/links=41472": func() error { _, err := db.Snapshot(ctx, "bw", start+797*minute); return err },
		"TopLinks/day":         func() error { _, err := db.TopLinks(ctx, "bw", m, day, 20); return err },
		"HotspotDurations/day": func() error {
			_, err := db.HotspotDurations(ctx, "bw", m, day, []float64{5, 10, 15, 20, 25, 30})
			return err
		},
		"link_values/day": func() error {
			return db.conn.Exec(ctx, "SELECT link, max(value) FROM link_values WHERE fabric = 'bw' AND metric = 'credit_stall' AND value > 30 GROUP BY link FORMAT Null")
		},
		"LastStored": func() error { _, err := db.LastStored(ctx, "bw"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(stored, "bytes/sample")
		})
	}
}

func bytesPerSample(b *testing.B, db testDB) float64 {
	b.Helper()
	var bytes, links uint64
	if err := db.conn.QueryRow(b.Context(), "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'giverny' AND table = 'link_samples'").Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	if err := db.conn.QueryRow(b.Context(), "SELECT sum(length(percents)) FROM link_samples").Scan(&links); err != nil {
		b.Fatal(err)
	}
	return float64(bytes) / float64(links)
}

// months fills the store with what tracking leaves behind in 150 days of minutes:
// 40 regions that live for 25 minutes on average, with their odds and moves, 40
// spells that end and 20 hot links in each interval.
func months(b *testing.B, db testDB) Span {
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
		if err := db.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return Span{start.UnixNano(), start.UnixNano() + 150*1440*minute}
}

// BenchmarkTrackingQuery asks about five months, or a day of them, and reports what the columns of
// tracking cost per interval on disk.
func BenchmarkTrackingQuery(b *testing.B) {
	db, ctx := migratedDB(b), b.Context()
	span := months(b, db)
	var bytes uint64
	if err := db.conn.QueryRow(ctx, `SELECT sum(column_data_compressed_bytes) FROM system.parts_columns WHERE active AND database = 'giverny'
		AND match(column, '^(odds_|growth_links|trend|network_|rce_|move_|spell_|hot_)')`).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"RegionMoves":       func() error { _, err := db.RegionMoves(ctx, "bw", schema.CreditStall, span); return err },
		"RegionTransitions": func() error { _, err := db.RegionTransitions(ctx, "bw", schema.CreditStall, span); return err },
		"HotSpells":         func() error { _, err := db.HotSpells(ctx, "bw", schema.CreditStall, span); return err },
		"Congestion":        func() error { _, err := db.Congestion(ctx, "bw", span); return err },
		"ForecastSkill":     func() error { _, _, err := db.ForecastSkill(ctx, "bw", span); return err },
		"ForecastSkill/day": func() error {
			_, _, err := db.ForecastSkill(ctx, "bw", Span{span.ToNanos - 1440*minute, span.ToNanos})
			return err
		},
		"TrackingAt": func() error { _, err := db.TrackingAt(ctx, "bw", span.FromNanos+700*minute); return err },
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
