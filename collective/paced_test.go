package collective_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

// A host that sends to two others at one pace below its NIC's rate is slow itself. It is not said to be where its NIC
// carries other traffic, where it is paused, or where it has a single receiver, as a slow path looks the same.
func TestPacedHost(t *testing.T) {
	slow := func(m *model) { m.degraded[hopPort{12, 1}] = 0.3 }
	for name, c := range map[string]struct {
		inject func(m *model)
		paced  bool
	}{
		"slow": {slow, true},
		"slow, with traffic elsewhere": {func(m *model) {
			slow(m)
			m.background(18, 19, 400e6, 0)
		}, true},
		"slow, with other traffic": {func(m *model) {
			slow(m)
			m.background(12, 13, 400e6, 0)
		}, false},
		"other traffic": {func(m *model) { m.background(12, 13, 400e6, 0) }, false},
		"paused":        {func(m *model) { m.paused[hopPort{0, 1}] = true }, false},
		"slow, with one receiver": {func(m *model) {
			slow(m)
			m.program = func(rank, _ int) (int, int64) { return rank ^ 1, 40_000_000 }
		}, false},
	} {
		m := newModel()
		m.ranks, m.steps = m.ranks[:4], 8
		m.program = func(rank, step int) (int, int64) { return rank ^ (1 + step%2), 40_000_000 }
		c.inject(m)
		d := collective.Diagnose(m.run(), collective.Options{})
		paced := slices.ContainsFunc(d.Culprits, func(u collective.Culprit) bool {
			return u.Class == collective.SlowHost && u.Object == "host 12" && strings.Contains(u.Evidence, "at one pace")
		})
		if paced != c.paced {
			t.Errorf("%s: paced: %t, want %t\n%s", name, paced, c.paced, d.Text)
		}
	}
}

// A host at half rate is a culprit of its own beside the collisions of the collective's
// flows, and costs what the collective is faster without it.
func TestPacedHostBesideCollisions(t *testing.T) {
	for _, share := range []float64{0.3, 0.5} {
		m := newModel()
		m.program, m.steps = halvingDoubling, 6
		healthy := collective.Diagnose(m.run(), collective.Options{})
		m.degraded[hopPort{12, 1}] = share
		d := collective.Diagnose(m.run(), collective.Options{})
		if len(d.Culprits) == 0 || d.Culprits[0].Class != collective.SlowHost || d.Culprits[0].Object != "host 12" {
			t.Errorf("a share of %v is left: want slow_host at host 12:\n%s", share, d.Text)
			continue
		}
		if cost, lost := float64(d.Culprits[0].CostNanos), float64(d.MakespanNanos-healthy.MakespanNanos); cost < 0.8*lost || cost > 1.2*lost {
			t.Errorf("a share of %v is left: host 12 costs %.0f ns, the model lost %.0f:\n%s", share, cost, lost, d.Text)
		}
	}
}
