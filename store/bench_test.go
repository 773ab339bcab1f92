//go:build engine || integration

package store

import (
	"fmt"
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

// BenchmarkStore stores intervals as fast as the embedded engine can take them,
// including its merges.
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

func bytesPerSample(b *testing.B, db testDB) float64 {
	b.Helper()
	var bytes, links uint64
	if err := db.conn.QueryRow(b.Context(), "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'link_samples'").Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	if err := db.conn.QueryRow(b.Context(), "SELECT sum(length(percents)) FROM link_samples").Scan(&links); err != nil {
		b.Fatal(err)
	}
	return float64(bytes) / float64(links)
}

// BenchmarkStoreJobs stores an interval with 200 jobs of 10,000 nodes each, as at the
// start of a feed.
func BenchmarkStoreJobs(b *testing.B) {
	db := migratedDB(b)
	nodes := make([]string, 10_000)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("nid%05d", i)
	}
	for n := int64(1); b.Loop(); n++ {
		r := someResult("bw", n, 10)
		r.Jobs = nil
		for i := range 200 {
			r.Jobs = append(r.Jobs, schema.Job{ID: fmt.Sprint(n, "-", i), Nodes: nodes, Start: schema.Instant(n * minute)})
		}
		if err := db.Store(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	var bytes, rows uint64
	if err := db.conn.QueryRow(b.Context(), "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'jobs'").Scan(&bytes, &rows); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(bytes)/float64(rows), "bytes/job")
}
