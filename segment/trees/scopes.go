package trees

import (
	"math"

	"github.com/giverny/giverny/internal/scratch"
)

// scope is where the traffic of an exchange stays: up to a level at which one switch is adjacent to all of its
// leaves, or within the dragonfly group whose routers they are.
type scope struct {
	level int8    // of the highest switches; 0: not an exchange
	group groupID // -1: any
}

// outsideCost exceeds any other cost: a link outside a cause's scope gets that cause only if it has no other.
const outsideCost = 1e3

// findScopes finds the scope of every exchange.
func (c *causes) findScopes(t *trees, s *sinks) {
	c.scopes = scratch.Slice(c.scopes, len(c.exchange))
	clear(c.scopes)
	for a := range s.all.len() {
		cause := c.causeOf(a)
		if c.exchange[cause] && c.scopes[cause].level == 0 && s.all[a].isLeaf {
			c.scopes[cause] = c.scopeOf(t, s, cause, s.all[a].device)
		}
	}
}

// scopeOf is the scope of an exchange with the given leaf: the whole fabric if its leaves are far apart.
func (c *causes) scopeOf(t *trees, s *sinks, cause causeID, leaf deviceID) scope {
	w := t.waits
	isOfAll := func(holds func(leaf deviceID) bool) bool {
		for a := range s.all.len() {
			if s.all[a].isLeaf && c.causeOf(a) == cause && !holds(s.all[a].device) {
				return false
			}
		}
		return true
	}
	for _, l := range w.out.of(leaf) {
		if above := w.to[l]; w.isUp(l) && isOfAll(func(d deviceID) bool { return w.isAdjacent(above, d) }) {
			return scope{w.level[above], -1}
		}
	}
	if w.group[leaf] >= 0 && isOfAll(func(d deviceID) bool { return d == leaf || w.group[d] == w.group[leaf] && w.isAdjacent(d, leaf) }) {
		return scope{w.level[leaf], w.group[leaf]}
	}
	return scope{math.MaxInt8, -1}
}

// isOutside reports whether a node's link is outside the scope of an exchange.
func (c *causes) isOutside(t *trees, i nodeID, cause causeID) bool {
	x, w := c.scopes[cause], t.waits
	from, to := t.from[i], t.to[i]
	switch {
	case w.level[from] > x.level || w.level[to] > x.level:
		return true
	case x.group < 0:
		return false
	case t.fromHost(i):
		return w.group[to] != x.group
	}
	return w.group[from] != x.group || !t.toHost(i) && w.group[to] != x.group
}
