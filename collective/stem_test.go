package collective_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/collective"
)

// only reports whether a single culprit is named, with the given class and object, the
// true cost and a matching expected time.
func only(t *testing.T, d, healthy collective.Diagnosis, class collective.Class, object string) {
	t.Helper()
	if len(d.Culprits) != 1 || d.Culprits[0].Class != class || d.Culprits[0].Object != object {
		t.Fatalf("%s\nwant %s at %s alone", d.Text, class, object)
	}
	cost, want := d.Culprits[0].CostNanos, d.MakespanNanos-healthy.MakespanNanos
	if off := float64(cost)/float64(want) - 1; off > 0.1 || off < -0.1 {
		t.Errorf("cost %d ns, true %d", cost, want)
	}
	if d.ExpectedNanos != d.MakespanNanos-cost {
		t.Errorf("expected %d ns, makespan %d less the cost of the only culprit is %d", d.ExpectedNanos, d.MakespanNanos, d.MakespanNanos-cost)
	}
}

// Pauses lead to a switch whose next port is neither paused nor busy: its link is slow,
// although no report shows a queue there.
func TestPausesThatEndAtAFreePortShowASlowLink(t *testing.T) {
	for _, c := range []struct {
		name      string
		at        hopPort
		object    string
		telemetry bool
	}{
		{"behind a host", hopPort{0, 2}, "switch 0 port 2", false},
		{"behind three switches", hopPort{1, 1}, "switch 1 port 1", true},
		{"in the fabric", hopPort{11, 1}, "switch 11 port 1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel()
			m.choose = 1 // through switch 11
			healthy := collective.Diagnose(m.run(), collective.Options{})
			m.degraded[c.at] = 0.3
			run := m.run()
			if !c.telemetry {
				run.Telemetry = nil
			}
			for i := range run.Telemetry {
				p := &run.Telemetry[i]
				p.QueueSum, p.Flows = 0, slices.Clone(p.Flows)
				for j := range p.Flows {
					p.Flows[j].QueueSum = 0
				}
			}
			only(t, collective.Diagnose(run, collective.Options{}), healthy, collective.SlowLink, c.object)
		})
	}
}

// Another job's flow behind the same paused port may be what waits, at its own port:
// the collective's link is not blamed.
func TestAnotherFlowBehindThePauseClearsTheLink(t *testing.T) {
	m := newModel()
	m.degraded[hopPort{0, 2}] = 0.3
	run := m.run()
	run.Telemetry = nil
	run.Flows = append(run.Flows, collective.Flow{Source: 12, Destination: 18, Bytes: 50_000_000, EndNanos: lastEnd(run)})
	for _, c := range collective.Diagnose(run, collective.Options{}).Culprits {
		if c.Class == collective.SlowLink {
			t.Errorf("%+v, want no link: 12->18 leaves the switch elsewhere", c)
		}
	}
}

// A host that sends to all peers at one reduced rate is slow itself, unless its link is
// slow in the other direction too.
func TestASlowSender(t *testing.T) {
	m := newModel()
	m.ranks, m.steps = m.ranks[:3], 6
	m.program = func(rank, step int) (int, int64) { return (rank + 1 + step%2) % 3, 40_000_000 }
	healthy := collective.Diagnose(m.run(), collective.Options{})
	if len(healthy.Culprits) > 0 {
		t.Fatalf("healthy: %s", healthy.Text)
	}
	m.degraded[hopPort{13, 1}] = 0.3
	only(t, collective.Diagnose(m.run(), collective.Options{}), healthy, collective.SlowHost, "host 13")
	m.degraded[hopPort{0, 2}] = 0.3
	only(t, collective.Diagnose(m.run(), collective.Options{}), healthy, collective.SlowLink, "switch 0 port 2")
}

func lastEnd(run collective.Run) (last int64) {
	for _, s := range run.Steps {
		last = max(last, s.EndNanos)
	}
	return last
}
