//go:build integration

package app

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine"
)

// BenchmarkEndToEnd runs b.N intervals of a second through the whole process, from
// reading a counter to the stored interval. It reports the latency, the number of
// intervals without a result, and the lag of the store at the end in seconds, when
// every second must have brought one interval.
func BenchmarkEndToEnd(b *testing.B) {
	library, err := engine.FindLibrary("")
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("GIVERNY_TEST_LIBRARY", library)
	const links = 41472
	b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
		ctx, stop := context.WithCancel(b.Context())
		defer stop()
		stored := make(chan storedInterval, 1024)
		acked := make(chan int64, 1024)
		u := underLoad{dir: b.TempDir(), topology: "torus:24x24x24",
			onAcked: func(nanos int64) { acked <- nanos },
			onStored: func(r *schema.IntervalResult) {
				if len(r.Snapshot.Series) > 0 {
					stored <- storedInterval{r.Snapshot.Interval.EndNanos(), time.Since(time.Unix(0, r.Snapshot.LastReadNanos)).Seconds()}
				}
			}}
		ended := make(chan error, 1)
		go func() { ended <- u.run(ctx) }()
		var polls []int64
		var seconds []float64
		last := int64(0)
		const warm = 3 // intervals to warm up caches and files
		for len(seconds) < warm+b.N {
			select {
			case nanos := <-acked:
				polls = append(polls, nanos)
			case s := <-stored:
				seconds, last = append(seconds, s.seconds), s.endNanos
				if len(seconds) == warm {
					b.ResetTimer()
				}
			case err := <-ended:
				b.Fatalf("the process has ended: %v", err)
			case <-time.After(time.Minute):
				b.Fatalf("nothing stored for a minute, %d intervals before", len(seconds))
			}
		}
		b.StopTimer()
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		span := int((polls[len(polls)-1] - polls[0]) / int64(time.Second))
		seconds = seconds[warm:]
		slices.Sort(seconds)
		b.ReportMetric(seconds[len(seconds)/2], "p50-s")
		b.ReportMetric(seconds[len(seconds)*99/100], "p99-s")
		b.ReportMetric(float64(max(0, span+1-len(polls))), "skipped-polls")
		b.ReportMetric(float64(polls[len(polls)-1]-last)/1e9, "lag-s")
	})
}

// storedInterval is the end of an interval, and the time from its last reading to its
// storage.
type storedInterval struct {
	endNanos int64
	seconds  float64
}
