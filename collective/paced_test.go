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
