package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// torusBatches splits the report of a whole torus in one interval into batches
// of 8,192 rows, as they come from Kafka.
func torusBatches(g *topology.Graph, columns ...string) []*schema.CounterBatch {
	const rowsPerBatch = 8192
	var batches []*schema.CounterBatch
	for d := range g.NumDevices() {
		for _, port := range []string{"X+", "X-", "Y+", "Y-", "Z+", "Z-"} {
			n := len(batches) - 1
			if n < 0 || batches[n].Rows() == rowsPerBatch {
				b := &schema.CounterBatch{Fabric: g.Fabric(), Source: "gpcdr", Agent: "sdb"}
				for _, c := range columns {
					b.Columns = append(b.Columns, schema.CounterColumn{Name: c})
				}
				batches = append(batches, b)
				n++
			}
			b := batches[n]
			b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
			b.Ports = append(b.Ports, schema.PortName{Device: g.Device(topology.DeviceID(d)).Name, Port: port})
			b.TimeNanos = append(b.TimeNanos, 0)
			for c := range b.Columns {
				b.Columns[c].Values = append(b.Columns[c].Values, rand.Uint64N(1<<40))
			}
		}
	}
	return batches
}

// nextInterval advances the counters of the batches by an interval of a second.
func nextInterval(batches []*schema.CounterBatch, interval int, derived bool) {
	for _, b := range batches {
		for r := range b.TimeNanos {
			b.TimeNanos[r] = int64(interval)*1e9 + 2e6 + int64(r%1000)*1e3
		}
		for c := range b.Columns {
			values := b.Columns[c].Values
			for r := range values {
				if derived {
					values[r] = uint64(r+interval) * 977 % 20e6
				} else {
					values[r] = (values[r] + uint64(r+interval)*97711%2e8) & (1<<48 - 1)
				}
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, kind := range []struct {
		name    string
		columns []string
	}{
		{"counters", []string{"gemini.credit_stall_ns", "gemini.inq_stall_ns", "gemini.traffic_bytes"}},
		{"derived", []string{"gemini.credit_stall", "gemini.inq_stall", "gemini.used_bw"}},
	} {
		g := topologytest.Parse(b, "torus", "torus:24x24x24")
		b.Run(fmt.Sprintf("%s/links=%d", kind.name, g.NumLinks()), func(b *testing.B) {
			cfg := window.DefaultConfig()
			cfg.Interval = time.Second
			w, err := window.New(g, cfg)
			if err != nil {
				b.Fatal(err)
			}
			batches := torusBatches(g, kind.columns...)
			rows, snapshots, interval := 0, 0, 0
			step := func() {
				for _, batch := range batches {
					if err := w.Add(batch); err != nil {
						b.Fatal(err)
					}
					rows += batch.Rows()
					for s := w.Next(); s != nil; s = w.Next() {
						snapshots++
						w.Recycle(s)
					}
				}
			}
			for range 3 {
				interval++
				nextInterval(batches, interval, kind.name == "derived")
				step()
			}
			rows, snapshots = 0, 0
			var cpu time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				interval++
				nextInterval(batches, interval, kind.name == "derived")
				before := cputime.Used(b)
				b.StartTimer()
				step()
				cpu += cputime.Used(b) - before
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(rows)/cpu.Seconds(), "rows/cpu-s")
			if snapshots != b.N {
				b.Fatalf("%d snapshots of %d intervals", snapshots, b.N)
			}
		})
	}
}
