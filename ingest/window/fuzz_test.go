package window_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
)

// FuzzAdd adds arbitrary rows to a window: it must not panic, and its snapshots
// must be consecutive and have possible values.
func FuzzAdd(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 60, 0, 0, 0, 0, 0, 0, 0, 2, 255, 255})
	f.Add([]byte{1, 2, 255, 255, 255, 255, 255, 255, 255, 127, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 128, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := window.DefaultConfig()
		cfg.MaxJumpIntervals = 20
		w, err := window.New(grid(t, "torus:2x2"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		last := int64(math.MinInt64)
		jumps := uint64(0)
		for len(data) >= 11 {
			var b *schema.CounterBatch
			b, data = fuzzBatch(data)
			if b == nil {
				now := int64(binary.LittleEndian.Uint64(data[2:]))
				w.Advance(now, now)
				data = data[10:]
			} else if err := w.Add(b); err != nil {
				continue
			}
			for s := w.Next(); s != nil; s = w.Next() {
				if n := w.Drops()[window.Jump.String()]; n != jumps {
					jumps, last = n, math.MinInt64
				}
				if s.Interval.StartNanos <= last || s.Interval.StartNanos%int64(cfg.Interval) != 0 {
					t.Fatalf("interval %d after %d", s.Interval.StartNanos, last)
				}
				last = s.Interval.StartNanos
				checkValues(t, s)
				w.Recycle(s)
			}
		}
	})
}

func checkValues(t *testing.T, s *schema.Snapshot) {
	for _, r := range s.Series {
		for link, v := range r.Values {
			if v < 0 || math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || r.Metric.Unit() == schema.Percent && v > 100 {
				t.Fatalf("%s of link %d is %v", r.Metric, link, v)
			}
		}
	}
}

var fuzzPorts = []schema.PortName{{Device: "0,0", Port: "X+"}, {Device: "0,0", Port: "X-"}, {Device: "1,0", Port: "Y+"}, {Device: "1,1", Port: "Y-"}, {Device: "x", Port: "y"}}

// fuzzBatch makes a batch of a few rows from the data's first bytes; nil stands
// for a call of Advance.
func fuzzBatch(data []byte) (*schema.CounterBatch, []byte) {
	if data[0] == 255 {
		return nil, data
	}
	set := sets[int(data[0])%len(sets)]
	b := &schema.CounterBatch{Fabric: "f", Agent: "a", Epoch: uint64(data[0] >> 5), Ports: fuzzPorts}
	for _, c := range set {
		b.Columns = append(b.Columns, schema.CounterColumn{Name: c})
	}
	rows := 1 + int(data[1]%8)
	data = data[2:]
	for range rows {
		if len(data) < 9 {
			break
		}
		nanos := int64(binary.LittleEndian.Uint64(data[1:]))
		if data[0]&0x80 == 0 {
			nanos = int64(data[1])*7e9 + int64(data[2]) // close to others
		}
		b.TimeNanos = append(b.TimeNanos, nanos)
		b.PortIndex = append(b.PortIndex, uint32(data[0]&7)) // may be out of range
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(data[3+c])<<(data[0]&0x3f))
		}
		data = data[9:]
	}
	return b, data
}
