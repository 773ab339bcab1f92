package collective_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

// A rank that never begins a step stops the ring: it is named, the others that wait
// for it are not.
func TestHangNamesTheStoppedRank(t *testing.T) {
	for _, c := range []struct {
		name       string
		rank, step int
		halving    bool
	}{{"ring", 3, 6, false}, {"ring, first step", 5, 1, false}, {"ring, last step", 0, 14, false}, {"halving-doubling", 6, 4, true}} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel()
			if c.halving {
				m.program, m.steps = halvingDoubling, 6
				m.choose = 1
			}
			m.stop[[2]int{c.rank, c.step}] = true
			d := collective.Diagnose(m.run(), collective.Options{})
			if !slices.Equal(d.StoppedRanks, []int{c.rank}) {
				t.Errorf("stopped %v, want %d", d.StoppedRanks, c.rank)
			}
			if len(d.Culprits) == 0 || d.Culprits[0].Class != collective.Hang || d.Culprits[0].Object != "host "+m.fabric.Nodes[m.ranks[c.rank]].Name {
				t.Errorf("culprits %+v", d.Culprits)
			}
		})
	}
}

// loop is telemetry of ports that wait for each other: a signal record at each switch
// for the paused link before it.
func loop(run *collective.Run, at int64, ports []hopPort, in []int) {
	for i, p := range ports {
		run.Telemetry = append(run.Telemetry, collective.PortReport{
			Record: 1000 + i, TimeNanos: at, EpochNanos: at - 1e6, LastNanos: at, Switch: p.node, Port: p.port, Signal: true, In: in[i], MeterBytes: 1_000_000, Packets: 100, Paused: 100,
			Flows: []collective.FlowReport{{Source: 13, Destination: 14, Collective: true, MaxSeq: 100_000, Packets: 100, Paused: 100}},
		})
	}
}

func TestDeadlockNamesEveryPort(t *testing.T) {
	m := newModel()
	m.stop[[2]int{1, 6}] = true // what is recorded of a run whose transfers stand still
	run := m.run()
	last := int64(0)
	for _, s := range run.Steps {
		last = max(last, s.EndNanos)
	}
	// ToR 0 port 3 -> agg 4 port 2 -> ToR 1 port 4 -> agg 5 port 1 -> ToR 0: a loop.
	loop(&run, last+2e6, []hopPort{{0, 3}, {4, 2}, {1, 4}, {5, 1}}, []int{4, 1, 3, 2})
	d := collective.Diagnose(run, collective.Options{})
	if len(d.Culprits) == 0 || d.Culprits[0].Class != collective.Deadlock {
		t.Fatalf("%s", d.Text)
	}
	for _, port := range []string{"switch 0 port 3", "switch 4 port 2", "switch 1 port 4", "switch 5 port 1"} {
		if !strings.Contains(d.Culprits[0].Object, port) {
			t.Errorf("object %q lacks %s", d.Culprits[0].Object, port)
		}
	}
	if d.Culprits[0].CostNanos <= 0 || len(d.StoppedRanks) == 0 {
		t.Errorf("cost %d, stopped %v", d.Culprits[0].CostNanos, d.StoppedRanks)
	}
}
