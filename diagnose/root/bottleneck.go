package root

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Bottleneck is a link of a grid between switches for which packets wait: it carries all it can, or less than before.
type Bottleneck struct {
	Link   schema.LinkID
	Tail   topology.DeviceID // the end where packets enter it
	Fit    float64           // how well readings agree with the tree that leads to it, 0 to 1; 0: no tree
	Waits  float64           // share of time that packets wait for it
	Score  float64           // Share, weighted by how much waits for it
	Lost   float64           // share of its load before the onset that is gone; 0 of a full link
	Share  float64           // share of the region that waits for it
	Slower bool              // carries clearly less than before the onset
	Cannot bool              // its waits show that it cannot carry its capacity
	Sole   bool              // the only way on with less load where the region ends
}

const (
	// bottleneckFit is the least fit of the tree upstream of a link for the link to be named the root.
	bottleneckFit = .45
	// bottleneckWaits and bottleneckLost are by how much worse a link's tree may fit than that of a switch, if packets
	// always wait for the link, or if it lost all its load: both are measured, and what a switch does not accept is
	// not.
	bottleneckWaits, bottleneckLost = .6, .35
	// bottleneckStall is the highest stall, percent, of a link that packets wait for.
	bottleneckStall = 10
	// mostlyWaits is the share of time that packets wait for a link from which on the traffic that leads to it need not
	// be a tree of suspects.
	mostlyWaits = .5
	// leastWaits is the wait assumed where none was seen.
	leastWaits = .1
	// maxBottlenecks limits the candidates of a region.
	maxBottlenecks = 6
)

// Bottleneck finds the link that the region lies upstream of: among the links that are full, or carry clearly less than
// before, and do not stall themselves, the one that most of the region leads to and most packets wait for. The region
// is that of the last call of Drain, which returned d; isSteady says that it does not carry more than before the onset.
func (g *GridRegion) Bottleneck(p *Pressure, senders []Sender, d *Drain, isSteady bool) Bottleneck {
	best := Bottleneck{Link: schema.NoLink}
	if len(g.devices) == 0 {
		return best
	}
	g.check()
	w := g.walkBy(p)
	w.shown.turnTo(p.Stall, p.Number)
	g.listBottlenecks(w)
	g.claims.reset()
	stalled := g.stalled(p)
	for i, n := range g.bottlenecks {
		by := p.claimant(i, n.Link)
		from, to := p.graph.Ends(n.Link)
		for _, tail := range [2]topology.DeviceID{from, to} {
			for _, of := range senders {
				pass := g.grid.Passage(of.Routes, n.Link, tail)
				g.claims.addPassage(by, &pass, stalled)
			}
		}
	}
	w.spreadOnGrid(g.links)
	g.shares = g.claims.shares(len(g.bottlenecks), g.shares[:0])
	for i, share := range g.shares {
		g.bottlenecks[i].Share = share
	}
	best = g.mostWaitedFor(w)
	if n := w.flatBottleneck(g.links); n.Link != schema.NoLink {
		return n
	}
	if best.Link != schema.NoLink {
		best.Tail, best.Fit = g.tailOf(senders, best.Link, p)
	}
	if isSteady && !best.Before(d) {
		if n := w.soleWay(g.links); n.Link != schema.NoLink {
			return n
		}
	}
	return best
}

// mostWaitedFor is the candidate that most of a region waits for, by its share of the region's stall as followed
// without routes. For a full link that is averaged with its share of the links claimed by suspects' routes. What a link
// that lost rate holds back need not be an exchange of suspects.
func (g *GridRegion) mostWaitedFor(w *gridWalk) (best Bottleneck) {
	best.Link = schema.NoLink
	followed := 0.
	for _, l := range w.known {
		followed += w.toPort[l]
		if !g.tried.Has(l) {
			_, s := w.shows(l)
			n, _ := w.bottleneckOf(l, s)
			g.bottlenecks = append(g.bottlenecks, n)
		}
	}
	for i := range g.bottlenecks {
		n := &g.bottlenecks[i]
		if followed > 0 {
			led := w.toPort[n.Link] / followed
			if n.Share = (n.Share + led) / 2; n.Slower {
				n.Share = led
			}
		}
		if n.Score = n.Share * math.Sqrt(max(leastWaits, n.Waits)); n.Slower {
			n.Score *= n.Lost
		}
		if n.Score > best.Score {
			best = *n
		}
	}
	return best
}

// listBottlenecks lists the candidates at a region; if they are many, those with most waits.
func (g *GridRegion) listBottlenecks(w *gridWalk) {
	g.bottlenecks = g.bottlenecks[:0]
	g.tried.Clear()
	for _, d := range g.devices {
		for _, l := range w.graph.LinksAt(d) {
			if !g.tried.Add(l) {
				continue
			}
			if _, s := w.shows(l); s.isBottleneck {
				n, _ := w.bottleneckOf(l, s)
				g.bottlenecks = append(g.bottlenecks, n)
			}
		}
	}
	if len(g.bottlenecks) > maxBottlenecks {
		slices.SortStableFunc(g.bottlenecks, func(a, b Bottleneck) int { return cmp.Compare(b.Score, a.Score) })
		g.bottlenecks = g.bottlenecks[:maxBottlenecks]
	}
}

// bottleneckOf rates a link by how much waits for it, and reports whether it is a candidate.
func (w *gridWalk) bottleneckOf(l schema.LinkID, s *shown) (n Bottleneck, may bool) {
	n = Bottleneck{Link: l, Waits: w.waitsFor(l), Slower: !s.isFull()}
	n.Score = max(leastWaits, n.Waits)
	if !n.Slower {
		return n, true
	}
	if s.stall > bottleneckStall || w.heldBehind(l) {
		return n, false
	}
	rate := w.rateLeft(l, s.use)
	left := min(s.left(), rate) // of its former load or, if its waits show that it can send less, of its capacity
	n.Lost, n.Cannot = 1-left, rate < ClearlyLess
	n.Score *= n.Lost
	return n, left < ClearlyLess
}

// rateLeft is the share of its capacity that a link can send, bounded by its waits: while packets wait for it inside
// the switch and it has credits it sends, so that it carries use, percent, in at least that share of the time, at its
// rate. It is 1 where packets do not mostly wait.
func (p *Readings) rateLeft(l schema.LinkID, use float64) float64 {
	if p.Credit == nil || !p.Credit.Valid.Has(int(l)) {
		return 1
	}
	sends := p.waitsFor(l) - float64(p.Credit.Values[l])/100
	if sends < mostlyWaits || use < 0 {
		return 1
	}
	return min(1, use/100/sends)
}

// isFull reports whether a link carries all it can in a direction without stall. A stalled link does not send, so that
// in one direction stall and use add up to at most all of the time.
func (s *shown) isFull() bool {
	return s.use >= saturatedPercent-5 && (s.stall <= bottleneckStall || s.use+s.stall > 100+bottleneckStall)
}

// left is a link's use relative to before the onset; 1 if not known.
func (s *shown) left() float64 {
	if s.before < LeastUse || s.use < 0 {
		return 1
	}
	return s.use / s.before
}

// Before reports whether the region lies upstream of the link rather than around the switch: the trees of suspects over
// the link agree, or most of the region was followed to it and packets wait for it most of the time.
func (n *Bottleneck) Before(d *Drain) bool {
	followed := n.Waits >= mostlyWaits && n.Share*n.Waits >= rootShare*mostlyWaits
	tree := d.tree
	if d.IsCertain() && !d.Grew {
		tree = d.Fit // the links at its end say more than all links alike
	}
	return n.Sole || (n.Fit >= bottleneckFit || followed) && n.Fit+max(bottleneckWaits*n.Waits, bottleneckLost*n.Lost) > tree
}

// Ending is the link as the place where back pressure ends.
func (n *Bottleneck) Ending() Ending { return Ending{true, n.Tail, n.Link, n.Lost} }

// endMargin is how much better the trees at the second end of a link must fit for that end to be the tail: if traffic
// waits at both, the verdict does not flip between intervals.
const endMargin = .1

// tailOf returns the end of a link at which the trees of suspects that lead to it agree best with readings, and their
// fit.
func (g *GridRegion) tailOf(senders []Sender, l schema.LinkID, p *Pressure) (tail topology.DeviceID, fit float64) {
	from, to := p.graph.Ends(l)
	ends, fits := [2]topology.DeviceID{from, to}, [2]float64{}
	for end, tail := range ends {
		for _, of := range senders {
			if g.tree.Upstream(of.Routes, l, tail, nil); len(g.tree.Links) > 0 {
				fits[end] = max(fits[end], g.agreement())
			}
		}
	}
	if fits[1] > fits[0]+endMargin {
		return to, fits[1]
	}
	return from, max(fits[0], fits[1])
}
