package collectors

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// still is a collector of one device whose counter rises, and which knows of no resets.
type still struct{}

func (still) Name() string                              { return "still" }
func (still) Epoch() uint64                             { return 0 }
func (still) Devices(context.Context) ([]Device, error) { return []Device{still{}}, nil }
func (still) Read(_ context.Context, r *Reading) error {
	r.Row("set", schema.PortName{Device: "a", Port: "1"})
	r.Put("ib.port_xmit_data", 1)
	return nil
}

// epochs records the epochs of batches.
type epochs []uint64

func (e *epochs) Emit(_ context.Context, b *schema.CounterBatch) error {
	*e = append(*e, b.Epoch)
	return nil
}

// A clock that is set begins another epoch, and so does the poll after it, whose rows the step may have cut in two.
func TestPollerNoticesThatTheClockWasSet(t *testing.T) {
	var emitted epochs
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	agent, err := NewAgent("agent", &emitted, slog.New(slog.NewTextHandler(&log, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Fabric, cfg.Interval = "f", time.Minute
	p, err := New(cfg, still{}, agent)
	if err != nil {
		t.Fatal(err)
	}
	var now instant
	p.clocks = func() instant { return now }
	poll := func(step time.Duration) {
		now.monotonic += time.Minute
		now.wallNanos += (time.Minute + step).Nanoseconds()
		p.Once(t.Context())
	}
	for _, step := range []time.Duration{0, 0, time.Second, -24 * time.Hour, 0, 0, time.Hour, 0, 0} {
		poll(step)
	}
	want := []int{0, 0, 0, 1, 2, 2, 3, 4, 4} // a second is within 5% of a minute
	numbers := map[uint64]int{}
	for i, e := range emitted {
		if _, known := numbers[e]; !known {
			numbers[e] = len(numbers)
		}
		if len(emitted) != len(want) || numbers[e] != want[i] {
			t.Fatalf("epochs %v, want the pattern %v", emitted, want)
		}
	}
	for direction, want := range map[string]float64{"forward": 1, "back": 1} {
		if got := metric.Sum(t, reg, "giverny_collector_clock_steps_total", direction); got != want {
			t.Errorf("%v steps %s, want %v", got, direction, want)
		}
	}
	if got := strings.Count(log.String(), "the clock of this host was set"); got != 2 {
		t.Errorf("%d lines about steps:\n%s", got, log.String())
	}
}
