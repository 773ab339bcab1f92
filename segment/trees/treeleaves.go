package trees

import (
	"math"

	"github.com/giverny/giverny/segment/trees/index"
)

// leastRest is the share of its port's stall that a tree adds at least to what waits at its leaf, if its traffic comes
// from other leaves.
const leastRest = .3

// findTreeLeaves finds the leaves that are level with others, but where a tree begins, too: each counts for the nearest set.
func (c *causes) findTreeLeaves(t *trees, s *sinks) {
	for _, x := range c.rises {
		a, b := x.from, x.to
		if s.all[b].beginsTree() {
			a, b = b, a
		}
		if !s.all[a].beginsTree() || s.all[b].beginsTree() || c.alsoIn[a] >= 0 {
			continue
		}
		if p, own := &c.levels[c.levelOf(b)], &c.levels[c.levelOf(a)]; math.Abs(p.stall()-own.stall()) < levelError(t, p, own) {
			c.alsoIn[a] = c.levelOf(b)
			p.sinks++
		}
	}
}

// isLevel reports whether two sinks are at one level.
func (c *causes) isLevel(a, b sinkID) bool {
	home := func(a sinkID) levelID {
		if c.alsoIn[a] >= 0 {
			return c.alsoIn[a]
		}
		return c.levelOf(a)
	}
	return home(a) == home(b)
}

// isRaised reports whether what waits at a leaf stalls, as a whole, more than an exchange in which the leaf takes part.
func (c *causes) isRaised(t *trees, s *sinks, a sinkID) bool {
	x, p := &s.all[a], &c.levels[c.double[a].exchange]
	return x.deviation < unevenDeviations && x.level-p.stall() >= levelError(t, p, &plateau{links: x.levels, sum: x.levelSum})
}

// restAt is what the tree of such a leaf adds to the exchange on the links where it shows; the stall of its port if that is
// little: its traffic then hardly comes from other leaves.
func (c *causes) restAt(t *trees, s *sinks, a sinkID) float64 {
	x, level := &s.all[a], c.levels[c.double[a].exchange].stall()
	rest := x.level - level
	if !c.isRaised(t, s, a) {
		sum, n := 0., 0.
		for _, i := range t.Into.Of(x.device) {
			if s.feeding[i] == a && t.IsClearlyAbove(t.Stall[i], level) {
				sum, n = sum+t.Stall[i]-level, n+1
			}
		}
		rest = sum / max(1, n)
	}
	if rest <= leastRest*x.port {
		return x.port
	}
	return rest
}

// setBeside gives a node that waits at a leaf, where a tree begins and which takes part in an exchange, its parts: the
// exchange, and the tree if all that waits there stalls more than the exchange, or this node clearly does.
func (h *shares) setBeside(m *analysis, i index.Node, a sinkID) {
	x, exchange := &m.sinks.all[a], m.causes.double[a].exchange
	level := m.causes.levels[exchange].stall()
	rest := x.level - level
	if !m.causes.isRaised(&m.trees, &m.sinks, a) {
		if rest = m.Stall[i] - level; !m.IsClearlyAbove(m.Stall[i], level) {
			h.misfit[i] = math.Abs(rest) / m.Noise.Sigma(m.Stall[i])
			one, _ := m.causes.bothAt(a)
			h.of[i].set(part{cause: one, stall: m.Stall[i]})
			return
		}
		h.misfit[i] = 0
	}
	one, other := m.causes.bothAt(a)
	h.of[i].set(part{cause: one, stall: level}, part{cause: other, stall: rest})
}
