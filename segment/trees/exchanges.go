package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// plateau is a set of level sinks.
type plateau struct {
	sinks int
	links int     // that are level
	sum   float64 // of their stalls
	// sendsToo: most hosts there also send into it, as in an exchange, and no port explains it.
	sendsToo bool
}

// stall is the mean stall of its links, percent.
func (p plateau) stall() float64 { return p.sum / float64(max(1, p.links)) }

// rise is the difference in level between two sinks.
type rise struct {
	from, to sinkID
	height   float64
}

// isExchange reports whether level sinks that share their sources are one exchange: three or more, as two may be two
// trees.
func (p plateau) isExchange() bool { return p.sinks >= 3 }

// joinLevel clusters the sinks at leaves by level, nearest first. Sets are compared by their means, so no chain of
// small steps joins distant levels.
func (c *causes) joinLevel(t *trees, s *sinks, of sinkRange) {
	c.rises = c.rises[:0]
	c.uneven = unevenOf(s, of)
	for a := of.first; a < of.end; a++ {
		x := &s.all[a]
		if !x.isLeaf || !x.isWide() && c.uneven < unevenDeviations {
			continue
		}
		c.levels[c.levelOf(a)] = plateau{1, x.levels, x.levelSum, x.sendsToo && !x.beginsTree()}
		for b := of.first; b < a; b++ {
			if y := &s.all[b]; c.areNear(t, s, a, b) && c.mayBeLevel(t, s, a, b) {
				c.rises = append(c.rises, rise{a, b, math.Abs(x.level - y.level)})
			}
		}
	}
	slices.SortFunc(c.rises, func(a, b rise) int {
		return cmp.Or(cmp.Compare(a.height, b.height), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for _, x := range c.rises {
		a, b := c.levelOf(x.from), c.levelOf(x.to)
		p, q := c.levels[a], c.levels[b]
		if s.all[x.from].beginsTree() || s.all[x.to].beginsTree() {
			continue
		}
		if a == b || !c.areUneven(&s.all[x.from], &s.all[x.to]) && math.Abs(p.stall()-q.stall()) >= levelError(t, &p, &q) {
			continue
		}
		c.level.Union(a, b)
		c.levels[a], c.levels[b] = plateau{}, plateau{}
		c.levels[c.level.Find(a)] = plateau{p.sinks + q.sinks, p.links + q.links, p.sum + q.sum, p.sendsToo && q.sendsToo}
	}
	c.findTreeLeaves(t, s)
}

// mayBeLevel reports whether two sinks at leaves share their sources with others and each is reached from the other's
// leaf.
func (c *causes) mayBeLevel(t *trees, s *sinks, a, b sinkID) bool {
	x, y := &s.all[a], &s.all[b]
	if !x.isLeaf || !y.isLeaf {
		return false
	}
	if c.areUneven(x, y) {
		if y.fromSwitches < backpressure.MinFeeders {
			a, b = b, a
		}
		if !sendsTo(t, s, a, b) {
			return false
		}
		share, _ := c.evidence.shared(x, y)
		return sendsTo(t, s, b, a) || s.all[a].fromSwitches < backpressure.MinFeeders && share >= containedShare
	}
	if !x.isWide() || !y.isWide() || !x.sendsToo || !y.sendsToo {
		return false
	}
	if x.hasManyPorts() && y.hasManyPorts() && hostShare(t, s, a, b) >= exchangeHosts && hostShare(t, s, b, a) >= exchangeHosts {
		return true
	}
	if share, crowded := c.evidence.shared(x, y); share < exchangeShared || !crowded {
		return false
	}
	if hostShare(t, s, a, b) >= exchangeHosts && hostShare(t, s, b, a) >= exchangeHosts {
		return true
	}
	return (x.isUnread || reachesUp(t, s, a, b, 1)) && (y.isUnread || reachesUp(t, s, b, a, 1))
}

const (
	// Hosts exchange irregularly, and no one port explains the stall, where links into two leaves differ by
	// unevenDeviations of the noise on average, and those into a component's leaves by a median of leastUneven.
	unevenDeviations, leastUneven = 2, 1.2
	unevenRatio                   = .25 // lowest ratio of the levels of two such leaves
	fewestUp                      = 2   // stalled links from a leaf that show that it sends
)

// areUneven reports whether the links that wait at two sinks, neither of them a tree's, differ by more than noise:
// levels then do not show which leaves are one exchange.
func (c *causes) areUneven(x, y *sink) bool {
	return c.uneven >= leastUneven && !x.beginsTree() && !y.beginsTree() && x.deviation+y.deviation >= 2*unevenDeviations
}

// sendsTo reports whether enough hosts at a's switch, or half of its stalled links to other switches, lead to b.
func sendsTo(t *trees, s *sinks, a, b sinkID) bool {
	return reachesUp(t, s, a, b, fewestUp) || hostShare(t, s, a, b) >= exchangeShared
}

// areNear reports whether two sinks may be at one level.
func (c *causes) areNear(t *trees, s *sinks, a, b sinkID) bool {
	x, y := &s.all[a], &s.all[b]
	if c.areUneven(x, y) && ratio(x.level, y.level) >= unevenRatio {
		return true
	}
	return math.Abs(x.level-y.level) < levelError(t, &c.levels[c.levelOf(a)], &c.levels[c.levelOf(b)])
}

// levelError bounds the difference of two levels due to chance.
func levelError(t *trees, p, q *plateau) float64 {
	return t.Noise.MeanError(max(p.stall(), q.stall()), p.links, q.links)
}

// unevenOf is the median, over a component's leaves, of the deviation of the links that wait at a leaf, in deviations
// of the noise.
func unevenOf(s *sinks, of sinkRange) float64 {
	s.sample = s.sample[:0]
	for a := of.first; a < of.end; a++ {
		if x := &s.all[a]; x.isLeaf && x.fromSwitches >= backpressure.MinFeeders && !x.beginsTree() {
			s.sample = append(s.sample, x.deviation)
		}
	}
	if len(s.sample) < 2 {
		return 0
	}
	return median.Of(s.sample)
}

// findExchanges finds which causes are exchanges.
func (c *causes) findExchanges(s *sinks) {
	c.exchange = scratch.Zeroed(c.exchange, 2*len(s.all))
	for a := range s.all.Len() {
		if c.isOfExchange(a) {
			c.exchange[c.causeOf(a)] = true
		}
	}
}

// isOfExchange reports whether a sink is one of at least three that are level and share their sources.
func (c *causes) isOfExchange(a sinkID) bool { return c.levels[c.levelOf(a)].isExchange() }

// levelSums count an exchange's links waiting at leaves, and sum their stall.
type levelSums struct{ links, stall float64 }

// findBases finds the level of every exchange.
func (c *causes) findBases(s *sinks) {
	c.base, c.sums = scratch.Zeroed(c.base, len(c.exchange)), scratch.Zeroed(c.sums, len(c.exchange))
	for a := range s.all.Len() {
		x, cause := &s.all[a], c.causeOf(a)
		if c.isOfExchange(a) && x.others == 0 && x.down() >= backpressure.MinFeeders && c.double[a].isNone() {
			c.sums[cause].links += float64(x.links)
			c.sums[cause].stall += x.stall * float64(x.links)
		}
	}
	for cause, x := range c.sums {
		if x.links > 0 {
			c.base[cause] = x.stall / x.links
		}
	}
}

// isExchange reports whether a cause is an exchange.
func (c *causes) isExchange(cause causeID) bool { return c.exchange[cause] }

// takesPart reports whether a leaf takes part in an exchange: whether its traffic waits there.
func (c *causes) takesPart(s *sinks, leaf index.Device, cause causeID) bool {
	a := s.at(leaf)
	if a < 0 || s.all[a].down() == 0 && s.all[a].port == 0 {
		return false
	}
	if !c.double[a].isNone() {
		one, other := c.bothAt(a)
		return one == cause || other == cause
	}
	return c.causeOf(a) == cause
}

const (
	// A tree may add to an exchange up to mostRest of its port's stall, usually usualRest,
	mostRest, usualRest = 1.15, .8
	// and if most hosts there take part in the exchange, at no less than that share of its stall.
	partnerStall = .8
)

// double is what adds up at a sink: the level of an exchange, and another level or the tree of the sink itself. Of two
// levels either may be the exchange.
type double struct{ exchange, other levelID }

// ownTree is the other one if it is the sink's own tree.
const ownTree = levelID(-2)

func (d double) isNone() bool { return d.exchange < 0 }

// bothAt are the two causes that add up at a sink.
func (c *causes) bothAt(a sinkID) (one, other causeID) {
	d := c.double[a]
	if d.other == ownTree {
		return c.causeOfLevel(d.exchange), c.causeOf(a)
	}
	return c.causeOfLevel(d.exchange), c.causeOfLevel(d.other)
}

// findDouble finds whether two causes add up at a sink: two exchanges, or an exchange and the sink's own tree.
func (c *causes) findDouble(t *trees, s *sinks, a sinkID, of sinkRange) {
	x := &s.all[a]
	if !x.isLeaf || x.links < backpressure.MinFeeders {
		return
	}
	own := c.levelOf(a)
	if g := c.alsoIn[a]; g >= 0 && c.levels[g].isExchange() {
		c.double[a] = double{g, ownTree}
		return
	}
	if x.port > 0 && !x.hasManyPorts() && !c.levels[own].isExchange() {
		best := math.Inf(1)
		for b := levelID(of.first); b < levelID(of.end); b++ {
			p := c.levels[b]
			rest := x.stall - p.stall()
			if !p.isExchange() || rest <= -levelError(t, &p, &c.levels[own]) || rest >= mostRest*x.port || !c.sendsInto(t, s, a, b, of) {
				continue
			}
			if off := math.Abs(rest - usualRest*x.port); off < best {
				best, c.double[a] = off, double{b, ownTree}
			}
		}
	}
	if x.beginsTree() || !x.sendsToo || !c.double[a].isNone() {
		return
	}
	p := c.levels[own]
	best := backpressure.EqualDeviations*t.Noise.Sigma(p.stall())/math.Sqrt(float64(6*p.sinks)) + backpressure.EqualShare*p.stall()
	for b := levelID(of.first); b < levelID(of.end); b++ {
		for d := levelID(of.first); d < b; d++ {
			q, r := c.levels[b], c.levels[d]
			if b == own || d == own || 2*min(q.sinks, r.sinks) < p.sinks || !q.sendsToo || !r.sendsToo || !q.isExchange() && !r.isExchange() {
				continue
			}
			if off := math.Abs(min(100, q.stall()+r.stall()) - p.stall()); off < best {
				best, c.double[a] = off, double{d, b}
			}
		}
	}
}

// addsTree reports whether a sink's own tree adds to an exchange there.
func (c *causes) addsTree(a sinkID) bool { return c.double[a].other == ownTree }

// sendsInto reports whether most hosts at a's switch lead to the exchange b of a component, stalled nearly as much.
func (c *causes) sendsInto(t *trees, s *sinks, a sinkID, b levelID, of sinkRange) bool {
	sending, hosts, mask := 0, 0, uint64(0)
	for k := of.first; k < of.end; k++ {
		if c.levelOf(k) == b {
			mask |= 1 << s.all[k].bit
		}
	}
	for _, l := range t.Graph.In.Of(s.all[a].device) {
		if !t.Graph.FromHost(l) || t.Values[l] == linkset.Missing {
			continue
		}
		hosts++
		if i := t.Node[l]; i >= 0 && s.component[i] == of.first && s.mask[i]&mask != 0 && t.Stall[i] > partnerStall*c.levels[b].stall() {
			sending++
		}
	}
	return 2*sending > hosts
}
