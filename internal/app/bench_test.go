package app

import (
	"bytes"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// Decodes Kafka messages to snapshots, on one core: an iteration is an interval of a
// fabric whose links are read at both ends. A sample is a row: one port with three
// counters.
func BenchmarkDecodeAndWindow(b *testing.B) {
	b.Run("links=41472", func(b *testing.B) {
		const block = 20 // intervals encoded at a time, off the clock
		g := topologytest.Parse(b, "load", "torus:24x24x24")
		cfg := window.DefaultConfig()
		cfg.Interval = time.Second
		w, err := window.New(g, cfg)
		if err != nil {
			b.Fatal(err)
		}
		source, nanos := newLoadSource(g), time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).UnixNano()
		var decoder envelope.Decoder
		var batch schema.CounterBatch
		polls, snapshots := [][][]byte(nil), 0
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			if i%block == 0 {
				b.StopTimer()
				polls = encodePolls(b, source, nanos, block)
				nanos += block * int64(cfg.Interval)
				b.StartTimer()
			}
			for _, p := range polls[i%block] {
				if err := decoder.Counters(p, &batch); err != nil {
					b.Fatal(err)
				}
				if err := w.Add(&batch); err != nil {
					b.Fatal(err)
				}
				for s := w.Next(); s != nil; s = w.Next() {
					snapshots++
					w.Recycle(s)
				}
			}
		}
		b.StopTimer()
		if snapshots < b.N-3 {
			b.Errorf("%d snapshots of %d intervals", snapshots, b.N)
		}
		b.ReportMetric(float64(len(source.links))*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
	})
}

// encodePolls encodes n polls, a second apart, each as some messages.
func encodePolls(b *testing.B, source *load, nanos int64, n int) [][][]byte {
	b.Helper()
	var encoder envelope.Encoder
	polls := make([][][]byte, n)
	for i := range polls {
		_, err := encoder.Split(source.read(nanos+int64(i)*1e9), envelope.MaxKafkaPayload, func(p []byte) error {
			polls[i] = append(polls[i], bytes.Clone(p))
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return polls
}
