package linkhealth_test

import (
	"testing"
	"time"

	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
)

// Two agents may read one port, as perfquery and the agent of a host do. What the slower one read earlier is no counter
// that was cleared and has risen to its value since.
func TestOlderReadingsOfAnotherAgent(t *testing.T) {
	m, err := linkhealth.New(pairOf(t, false), linkhealth.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	interval := schema.IntervalAt(0, int64(time.Minute))
	step := func(readings ...[2]int64) (events []schema.Event) { // seconds of the interval, value
		var raw []*schema.CounterBatch
		for _, r := range readings {
			raw = append(raw, &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: "a", Port: "1"}}, TimeNanos: []int64{interval.StartNanos + r[0]*1e9}, PortIndex: []uint32{0},
				Columns: []schema.CounterColumn{{Name: "ib.symbol_error", Values: []uint64{uint64(r[1])}}}})
		}
		snap := &schema.Snapshot{Fabric: "f", Interval: interval, Links: 2}
		snap.Ports.From, snap.Ports.To = []schema.Presence{schema.Heard, schema.Heard}, []schema.Presence{schema.Heard, schema.Heard}
		interval = interval.Next()
		return m.Step(snap, raw, nil)
	}
	step([2]int64{10, 1000})
	if got := step([2]int64{30, 1005}, [2]int64{10, 1003}, [2]int64{30, 1005}); len(got) != 0 {
		t.Errorf("5 errors, read twice: %v", got)
	}
	if got := step([2]int64{10, 2}); len(got) != 0 { // cleared
		t.Errorf("2 errors since the counter was cleared: %v", got)
	}
	if got := step([2]int64{10, 402}); len(got) != 1 || got[0].Kind != schema.LinkErrors {
		t.Errorf("400 errors: %v", got)
	}
}
