package trees

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// causes joins sinks that are one cause. A cause is named by one of its sinks; numbers after the sinks are ports to
// hosts that are another cause than what else waits at their switch.
type causes struct {
	sets      index.UnionFind[causeID]
	level     index.UnionFind[levelID]   // level sinks that share their sources: an exchange
	levels    index.By[levelID, plateau] // by root of level
	rises     []rise
	uneven    float64 // see unevenOf
	double    index.By[sinkID, double]
	alsoIn    index.By[sinkID, levelID]  // by sink where a tree begins: the level set in which its leaf takes part, too, or -1
	thin      index.By[causeID, bool]    // see findThin
	count     index.By[causeID, int]     // its links
	wide      index.By[sinkID, int32]    // see findWide
	ends      index.By[causeID, int]     // number of its links that wait for no other of it
	isRooted  index.By[causeID, bool]    // its root visibly stalls
	off       index.By[causeID, float64] // sum of its links' residuals from the prediction, in deviations
	exchange  index.By[causeID, bool]
	base      index.By[causeID, float64] // an exchange's level at its leaves, where no tree adds to it
	sums      index.By[causeID, levelSums]
	masks     []maskKey
	evidence  pairs
	partners  []partnership
	votes     []vote
	met       []causeID // causes at one switch
	beside    beside
	receivers receivers
	oneWay    oneWay
	tally     []vote
}

// maskKey is a set of sinks of a component, and how many nodes, in all and at leaves (sources), lead to exactly
// these.
type maskKey struct {
	first          sinkID
	mask           uint64
	nodes, sources int32
}

// pairs counts the nodes of a component that lead to a sink, to two sinks, and to these two among three or more.
type pairs struct {
	one         [lastBit + 1]int32
	two, crowds [lastBit + 1][lastBit + 1]int32
}

const (
	// Two sinks at switches without hosts are one cause if they share at least that part of the smaller one's
	// sources, and the ratio of their stalls is at least that.
	transitShared, transitRatio = .4, .3
	// A sink without hosts belongs to the tree that at least that part of its sources leads to; one of a link or two
	// only if it stalls between half and twice as much as what waits there: else it is hot alone.
	containedShare, containedRatio = .6, .5
	// Sinks at leaves are an exchange if they share that part of the smaller one's sources, half of it with further
	// sinks, and are level; or if that part of each one's hosts leads to the other, with at least that ratio of
	// stalls.
	exchangeShared, exchangeHosts, exchangeRatio = .3, .6, .3
)

// find joins the sinks that are one cause by who leads to them, component by component, and measures the exchanges.
func (c *causes) find(t *trees, s *sinks) {
	n := len(s.all)
	c.sets.Reset(2 * n)
	c.level.Reset(n)
	c.levels, c.double, c.wide = scratch.Zeroed(c.levels, n), scratch.Filled(c.double, n, double{-1, -1}), scratch.Zeroed(c.wide, n)
	c.alsoIn = scratch.Filled(c.alsoIn, n, -1)
	c.oneWay.forget(len(t.Seen))
	c.listMasks(t, s)
	for first := sinkID(0); first < s.all.Len(); {
		of := s.ofComponent(first)
		if of.len() > 1 {
			c.joinComponent(t, s, of)
		}
		first = of.end
	}
	c.joinCalmPorts(t, s)
	c.findThin(s)
	c.findExchanges(s)
	c.findBases(s)
}

// listMasks lists, for components with several sinks, which sinks nodes lead to, merging equal neighbours.
func (c *causes) listMasks(t *trees, s *sinks) {
	c.masks = c.masks[:0]
	for _, i := range t.order {
		first := s.component[i]
		if first < 0 || int(first)+1 == len(s.all) || s.all[first+1].first != first {
			continue
		}
		if k := len(c.masks) - 1; k < 0 || c.masks[k].first != first || c.masks[k].mask != s.mask[i] {
			c.masks = append(c.masks, maskKey{first: first, mask: s.mask[i]})
		}
		k := &c.masks[len(c.masks)-1]
		k.nodes++
		if t.LeafOf(i) >= 0 {
			k.sources++
		}
	}
	slices.SortFunc(c.masks, func(a, b maskKey) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.mask, b.mask)) })
}

// joinComponent joins the sinks of one component.
func (c *causes) joinComponent(t *trees, s *sinks, all sinkRange) {
	masks := c.takeMasks(all.first)
	of := sinkRange{all.first, min(all.end, all.first+lastBit+1)}
	c.evidence.count(masks, of.len(), true)
	for a := of.end; a < all.end; a++ { // more than the mask distinguishes
		c.join(a, of.end-1)
	}
	c.joinLevel(t, s, of)
	c.evidence.count(masks, of.len(), false)
	for a := of.first; a < of.end; a++ {
		c.findDouble(t, s, a, of)
	}
	for a := of.first; a < of.end; a++ {
		for b := of.first; b < a; b++ {
			if c.causeOf(a) != c.causeOf(b) && c.areOne(t, s, a, b) {
				c.join(a, b)
			}
		}
	}
	c.findWide(s, of)
	for a := of.first; a < of.end; a++ {
		c.joinContained(t, s, a, of)
	}
}

// takeMasks is a component's part of masks.
func (c *causes) takeMasks(first sinkID) []maskKey {
	begin, _ := slices.BinarySearchFunc(c.masks, first, func(k maskKey, f sinkID) int { return cmp.Compare(k.first, f) })
	end, _ := slices.BinarySearchFunc(c.masks, first+1, func(k maskKey, f sinkID) int { return cmp.Compare(k.first, f) })
	return c.masks[begin:end]
}

// count counts the links that lead to each of n sinks and each pair: all, or only those at leaves, where traffic begins;
// links between higher switches lead one way even if hosts send both ways.
func (p *pairs) count(masks []maskKey, n int, atLeaves bool) {
	clear(p.one[:n])
	for a := range n {
		clear(p.two[a][:n])
		clear(p.crowds[a][:n])
	}
	for i := 0; i < len(masks); {
		mask, links := masks[i].mask, int32(0)
		for ; i < len(masks) && masks[i].mask == mask; i++ {
			if atLeaves {
				links += masks[i].sources
			} else {
				links += masks[i].nodes
			}
		}
		crowd := bits.OnesCount64(mask) >= 3
		for rest := mask; rest != 0; rest &= rest - 1 {
			a := bits.TrailingZeros64(rest)
			p.one[a] += links
			for others := rest & (rest - 1); others != 0; others &= others - 1 {
				b := bits.TrailingZeros64(others)
				p.two[a][b] += links
				if crowd {
					p.crowds[a][b] += links
				}
			}
		}
	}
}

// shared is the share of the smaller sink's sources that two sinks have in common, and whether most of these lead to
// further sinks too.
func (p *pairs) shared(a, b *sink) (share float64, crowded bool) {
	low, high := min(a.bit, b.bit), max(a.bit, b.bit)
	both := p.two[low][high]
	return float64(both) / float64(max(1, min(p.one[low], p.one[high]))), 2*p.crowds[low][high] >= both
}

// causeOf is the cause of a sink, firstOf the first sink of that, levelOf the sinks that are level with it, and causeOfLevel
// the cause of such sinks; join makes the causes of two sinks one.
func (c *causes) causeOf(a sinkID) causeID           { return c.sets.Find(causeID(a)) }
func (c *causes) firstOf(a sinkID) sinkID            { return sinkID(c.causeOf(a)) }
func (c *causes) levelOf(a sinkID) levelID           { return c.level.Find(levelID(a)) }
func (c *causes) causeOfLevel(level levelID) causeID { return c.causeOf(sinkID(level)) }
func (c *causes) join(a, b sinkID)                   { c.sets.Union(causeID(a), causeID(b)) }

// ratio is the lesser of two values relative to the greater.
func ratio(a, b float64) float64 { return min(a, b) / max(a, b) }

// reachesUp reports whether at least half of the stalled links from a's switch to other switches lead to b, if there
// are at least fewest.
func reachesUp(t *trees, s *sinks, a, b sinkID, fewest int) bool {
	up, reach := 0, 0
	for _, i := range t.Leaving.Of(s.all[a].device) {
		if !t.ToHost(i) {
			up++
			if s.leads(i, b) {
				reach++
			}
		}
	}
	return up >= fewest && 2*reach >= up
}

// hostShare is the share of the hosts at a's switch whose stalled traffic leads to b.
func hostShare(t *trees, s *sinks, a, b sinkID) float64 {
	n := 0
	for _, i := range t.Into.Of(s.all[a].device) {
		if t.FromHost(i) && s.leads(i, b) {
			n++
		}
	}
	hosts := int(t.Graph.Hosts[s.all[a].device])
	if s.all[a].hasManyPorts() && s.all[a].sendsToo {
		hosts = min(hosts, s.all[a].ports)
	}
	return float64(n) / float64(max(1, hosts))
}

// areOne reports whether two sinks of one component are one cause: without hosts, they share their sources and stall
// about alike; at leaves, they are of one exchange.
func (c *causes) areOne(t *trees, s *sinks, a, b sinkID) bool {
	x, y := &s.all[a], &s.all[b]
	if c.addsTree(a) || c.addsTree(b) {
		return false
	}
	if x.link >= 0 || y.link >= 0 {
		return false
	}
	exchange, other := c.isOfExchange(a), c.isOfExchange(b)
	share, crowded := c.evidence.shared(x, y)
	if !x.isLeaf && !y.isLeaf {
		return share >= transitShared && ratio(x.stall, y.stall) >= transitRatio
	}
	isLevel := c.isLevel(a, b)
	if isLevel && exchange {
		return true
	}
	if share < exchangeShared || !crowded && !isLevel {
		return false
	}
	if isLevel && (!x.beginsTree() || !y.beginsTree()) {
		return true
	}
	return !exchange && !other && !x.beginsTree() && !y.beginsTree() && ratio(x.stall, y.stall) >= exchangeRatio &&
		hostShare(t, s, a, b) >= exchangeHosts && hostShare(t, s, b, a) >= exchangeHosts
}

// fewestMeeting is how many sinks without hosts, each of several links, are an exchange whose hosts or downlinks do
// not stall: a visible tree behind them would stall a link to it from one of them.
const fewestMeeting = 3

// findWide counts, for each sink of a component, the sinks without hosts, each of several links, in its cause.
func (c *causes) findWide(s *sinks, of sinkRange) {
	for a := of.first; a < of.end; a++ {
		c.wide[a] = 0
	}
	for a := of.first; a < of.end; a++ {
		if x := &s.all[a]; !x.isLeaf && x.links > 1 && x.port == 0 {
			c.wide[c.firstOf(a)]++
		}
	}
	for a := of.first; a < of.end; a++ {
		c.wide[a] = c.wide[c.firstOf(a)]
	}
}

// joinContained joins a sink without hosts with the sink at a leaf that most of its sources lead to, of several the one
// nearest in stall.
func (c *causes) joinContained(t *trees, s *sinks, a sinkID, of sinkRange) {
	x := &s.all[a]
	if x.isLeaf || x.port > 0 || x.bit == lastBit || c.wide[a] >= fewestMeeting {
		return
	}
	best, most := sinkID(-1), int32(0)
	for b := of.first; b < of.end; b++ {
		y := &s.all[b]
		if !y.isLeaf || y.links < backpressure.MinFeeders || y.bit == lastBit || !t.mayReach(x.device, y.device) {
			continue
		}
		if both := c.evidence.two[min(x.bit, y.bit)][max(x.bit, y.bit)]; both > most || both == most && best >= 0 && ratio(x.stall, y.stall) > ratio(x.stall, s.all[best].stall) {
			best, most = b, both
		}
	}
	if best < 0 || x.links < backpressure.MinFeeders && ratio(x.stall, s.all[best].stall) < containedRatio {
		return
	}
	if float64(most) >= containedShare*float64(c.evidence.one[x.bit]) {
		c.join(a, best)
	}
}

// mayReach reports whether links into a switch may go on to a leaf: links down only go to leaves adjacent to the
// switch.
func (t *trees) mayReach(d, leaf index.Device) bool {
	w := t.Graph
	comesDown := func(i index.Node) bool { return w.IsDown(t.Links[i]) }
	return !slices.ContainsFunc(t.Into.Of(d), comesDown) || w.IsAdjacent(d, leaf)
}

// joinCalmPorts joins a sink without hosts with a tree at a leaf behind one of its calm ports, if both are level: the
// port is full, or reads a false zero.
func (c *causes) joinCalmPorts(t *trees, s *sinks) {
	for a := range s.all.Len() {
		x := &s.all[a]
		if x.isLeaf || x.port > 0 || x.links < backpressure.MinFeeders {
			c.joinCalmNeighbour(t, s, a)
			continue
		}
		best, off := sinkID(-1), math.Inf(1)
		for _, l := range t.Graph.Out.Of(x.device) {
			b := s.at(t.Graph.To[l])
			if b < 0 || !s.all[b].isLeaf || s.all[b].links < backpressure.MinFeeders || t.Node[l] >= 0 {
				continue
			}
			if y := &s.all[b]; y.down() == 0 && y.port == 0 || min(x.deviation, y.deviation) > unevenDeviations {
				continue
			}
			if d := math.Abs(s.all[b].stall - x.stall); d < off {
				best, off = b, d
			}
		}
		if best >= 0 && off < t.Noise.MeanError(x.stall, min(x.links, s.all[best].links), math.MaxInt32) {
			c.join(a, best)
		}
	}
}

// Hosts that wait at a leaf for a calm port belong to the tree at the only leaf behind such a port whose stall may
// have fallen to theirs: by a ratio between these.
const leastFallen, mostFallen = .4, 1.05

// joinCalmNeighbour joins a sink at which hardly anything but hosts waits with the tree at an adjacent leaf.
func (c *causes) joinCalmNeighbour(t *trees, s *sinks, a sinkID) {
	x := &s.all[a]
	if x.port > 0 || x.links < 2 || x.fromSwitches >= backpressure.MinFeeders || c.isOfExchange(a) ||
		x.deviation > unevenDeviations {
		return
	}
	only := sinkID(-1)
	for _, l := range t.Graph.Out.Of(x.device) {
		b := s.at(t.Graph.To[l])
		if t.Graph.ToHost(l) || t.Node[l] >= 0 || b < 0 {
			continue
		}
		y := &s.all[b]
		if y.links < backpressure.MinFeeders || !(y.isTree() && x.down() == 0) && !t.AllFeedersStall(y.device) {
			continue
		}
		if fallen := x.stall / s.all[b].stall; fallen < leastFallen || fallen > mostFallen {
			continue
		}
		if only >= 0 && only != b {
			return
		}
		only = b
	}
	if only >= 0 {
		c.join(a, only)
	}
}

// findThin finds the thin causes: so little waits at their sinks that it may be lone hot links.
func (c *causes) findThin(s *sinks) {
	c.thin = scratch.Filled(c.thin, 2*len(s.all), true)
	for a := range s.all.Len() {
		if x := &s.all[a]; x.fromSwitches >= backpressure.MinFeeders || x.hasManyPorts() || x.link >= 0 {
			c.thin[c.causeOf(a)] = false
		}
	}
}
