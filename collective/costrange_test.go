package collective_test

import (
	"testing"

	"github.com/giverny/giverny/collective"
)

// Two flows that overlap hide each other: each one's cost lies within the given range,
// and there is no range if there is no other flow.
func TestCostRangeHoldsTheCostsOfFlowsThatOverlap(t *testing.T) {
	flows := []func(m *model){
		func(m *model) { m.background(18, 14, 80e6, 16e6) },
		func(m *model) { m.background(12, 17, 80e6, 18e6) },
	}
	diagnose := func(which ...int) collective.Diagnosis {
		m := newModel()
		for _, i := range which {
			flows[i](m)
		}
		return collective.Diagnose(m.run(), collective.Options{})
	}
	both := diagnose(0, 1)
	ranges := 0
	for i, flow := range []string{"18->14", "12->17"} {
		without := diagnose(1 - i)
		cost := both.MakespanNanos - without.MakespanNanos
		for _, c := range both.Culprits {
			if c.Flow != flow {
				continue
			}
			ends := c.CostRangeNanos
			if ends == [2]int64{} {
				ends = [2]int64{c.CostNanos, c.CostNanos}
			} else {
				ranges++
			}
			if float64(cost) < 0.95*float64(ends[0]) || float64(cost) > 1.05*float64(ends[1]) || c.CostNanos < ends[0] || c.CostNanos > ends[1] {
				t.Errorf("%s costs %d ns\n%s", flow, cost, both.Text)
			}
		}
		for _, c := range without.Culprits {
			if c.CostRangeNanos != [2]int64{} {
				t.Errorf("a range for the only culprit:\n%s", without.Text)
			}
		}
	}
	if ranges == 0 {
		t.Errorf("no range where two flows overlap:\n%s", both.Text)
	}
}

// Without telemetry and PFC frames a flow's cost is an upper bound; that of a late rank
// is known.
func TestCostRangeWithoutTelemetry(t *testing.T) {
	m := newModel()
	m.background(18, 14, 80e6, 16e6)
	run := m.run()
	run.Telemetry, run.Pauses = nil, nil
	if d := collective.Diagnose(run, collective.Options{}); len(d.Culprits) != 1 || d.Culprits[0].CostRangeNanos[0] != 0 || d.Culprits[0].CostRangeNanos[1] < d.Culprits[0].CostNanos {
		t.Error(d.Text)
	}
	m = newModel()
	m.delay[[2]int{5, 4}] = 25e6
	run = m.run()
	run.Telemetry, run.Pauses = nil, nil
	if d := collective.Diagnose(run, collective.Options{}); len(d.Culprits) != 1 || d.Culprits[0].CostRangeNanos != [2]int64{} {
		t.Error(d.Text)
	}
}
