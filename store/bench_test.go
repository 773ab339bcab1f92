package store

import (
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// stallResult is an interval of a 24x24x24 torus: credit and inq stall of 41,472
// links and a few dozen regions.
func stallResult(n int64) Result {
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
