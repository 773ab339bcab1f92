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
	step := stepper(t)
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

// The clock of the slower agent is ahead, so that its older value looks newer; some devices report zero now and then.
func TestCountersThatFallAndRecover(t *testing.T) {
	for name, readings := range map[string][][2]int64{
		"another agent's older value": {{10, 60000}, {10, 60005}, {11, 60003}, {10, 60006}},
		"zero":                        {{10, 60000}, {10, 0}, {10, 60001}},
		"zero for two intervals":      {{10, 60000}, {10, 0}, {10, 0}, {10, 60001}},
	} {
		step := stepper(t)
		for i, r := range readings {
			if got := step(r); len(got) != 0 {
				t.Errorf("%s: reading %d: %v", name, i, got)
			}
		}
		if got := step([2]int64{10, 60402}); len(got) != 1 || got[0].Kind != schema.LinkErrors {
			t.Errorf("%s: 400 errors: %v", name, got)
		}
	}
}

// stepper returns a function that gives a monitor an interval with readings of a port's symbol errors, each the second of the
// interval and the value.
func stepper(t *testing.T) func(readings ...[2]int64) []schema.Event {
	m, err := linkhealth.New(pairOf(t, false), linkhealth.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	interval := schema.IntervalAt(0, int64(time.Minute))
	return func(readings ...[2]int64) []schema.Event {
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
}
