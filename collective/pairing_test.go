package collective_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/collective"
)

// A rank that never begins a step of a direct all-to-all whose steps await the data
// of the step before stops the others after a while; it alone is named.
func TestHangOfAnAllToAll(t *testing.T) {
	for name, to := range map[string]func(rank, step int) int{
		"onwards":   func(rank, step int) int { return (rank + step) % 8 },
		"backwards": func(rank, step int) int { return (rank - step + 8) % 8 },
		"exchanged": func(rank, step int) int { return rank ^ step },
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			m.steps = 7
			m.program = func(rank, step int) (int, int64) { return to(rank, step), 10_000_000 }
			if d := collective.Diagnose(m.run(), collective.Options{}); len(d.StoppedRanks) > 0 {
				t.Errorf("a run that ended: %s", d.Text)
			}
			m.stop[[2]int{2, 4}] = true
			d := collective.Diagnose(m.run(), collective.Options{})
			if !slices.Equal(d.StoppedRanks, []int{2}) || d.Culprits[0].Class != collective.Hang {
				t.Errorf("%s\nwant rank 2 stopped", d.Text)
			}
		})
	}
}

// A ring all-gather stops: the ranks that finished it are not mistaken for ranks of an
// all-reduce that stopped half-way.
func TestHangOfAnAllGatherThatOthersEnded(t *testing.T) {
	m := newModel()
	m.steps = 7
	m.stop[[2]int{4, 4}] = true
	d := collective.Diagnose(m.run(), collective.Options{})
	if !slices.Equal(d.StoppedRanks, []int{4}) {
		t.Errorf("%s\nwant rank 4 stopped", d.Text)
	}
}
