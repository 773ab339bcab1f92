package collective_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

// scenario is a run with injected culprits.
type scenario struct {
	name    string
	inject  func(m *model)
	class   collective.Class
	flows   []string       // of the culprits; empty: not checked
	object  string         // of the first culprit
	without func(m *model) // removes the culprits, for the true cost
}

func noOthers(m *model) { m.others = nil }

func scenarios() []scenario {
	return []scenario{
		{name: "background", class: collective.BackgroundFlow, flows: []string{"18->14"}, object: "switch ", inject: func(m *model) { m.background(18, 14, 80e6, 16e6) }, without: noOthers},
		{name: "host NIC", class: collective.HostNICContention, flows: []string{"12->13"}, object: "host 12", inject: func(m *model) { m.background(12, 13, 80e6, 16e6) }, without: noOthers},
		{name: "incast", class: collective.Incast, flows: []string{"12->15", "16->15", "18->15"}, object: "switch 1 port 2", inject: func(m *model) {
			m.background(12, 15, 40e6, 16e6)
			m.background(16, 15, 40e6, 16e6)
			m.background(18, 15, 40e6, 16e6)
		}, without: noOthers},
		{name: "PFC root off the path", class: collective.PFCRoot, flows: []string{"16->18", "17->18", "19->18"}, object: "switch 3 port 1", inject: func(m *model) {
			m.ranks, m.steps = m.ranks[:4], 6
			m.program = func(rank, _ int) (int, int64) { return (rank + 1) % 4, 40_000_000 }
			m.background(12, 18, 30e6, 16e6)
			m.background(16, 18, 30e6, 16e6)
			m.background(17, 18, 30e6, 16e6)
			m.background(19, 18, 30e6, 16e6)
		}, without: noOthers},
		{name: "slow host link", class: collective.SlowLink, object: "switch 1 port 1", inject: func(m *model) { m.rate(1, 1, 10) }, without: func(m *model) { m.rate(1, 1, 25) }},
		{name: "slow link of the fabric", class: collective.SlowLink, object: "switch 0 port 3", inject: func(m *model) { m.rate(0, 3, 10) }, without: func(m *model) { m.rate(0, 3, 25) }},
		{name: "slow link that the fabric does not show", class: collective.SlowLink, object: "switch 0 port 3", inject: func(m *model) { m.degraded[hopPort{0, 3}] = 0.4 }, without: func(m *model) { clear(m.degraded) }},
		{name: "slow host", class: collective.SlowHost, object: "host 16", inject: func(m *model) { m.paused[hopPort{2, 1}] = true }, without: func(m *model) { clear(m.paused) }},
		{name: "straggler", class: collective.Straggler, object: "host 17", inject: func(m *model) { m.delay[[2]int{5, 4}] = 25e6 }, without: func(m *model) { clear(m.delay) }},
		{name: "late from the begin", class: collective.Straggler, object: "host 12", inject: func(m *model) { m.delay[[2]int{0, 1}] = 25e6 }, without: func(m *model) { clear(m.delay) }},
		{name: "self collision", class: collective.SelfCollision, object: "switch ", inject: func(m *model) { m.program, m.steps = halvingDoubling, 6 }},
	}
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			m := newModel()
			s.inject(m)
			d := collective.Diagnose(m.run(), collective.Options{})
			if len(d.Culprits) == 0 {
				t.Fatalf("no culprit: %s", d.Text)
			}
			first := d.Culprits[0]
			if first.Class != s.class || !strings.HasPrefix(first.Object, s.object) {
				t.Errorf("%s\nwant %s at %s", d.Text, s.class, s.object)
			}
			for _, flow := range s.flows {
				if !strings.Contains(d.Text, flow) {
					t.Errorf("%s\nwant flow %s", d.Text, flow)
				}
			}
			if s.without == nil {
				return
			}
			s.without(m)
			healthy := collective.Diagnose(m.run(), collective.Options{})
			if len(healthy.Culprits) > 0 {
				t.Errorf("without the culprits: %s", healthy.Text)
			}
			true_, sum := d.MakespanNanos-healthy.MakespanNanos, int64(0)
			for _, c := range d.Culprits {
				sum += c.CostNanos
			}
			if off := float64(sum)/float64(true_) - 1; off > 0.15 || off < -0.15 {
				t.Errorf("costs %d ns in all, true %d\n%s", sum, true_, d.Text)
			}
		})
	}
}
