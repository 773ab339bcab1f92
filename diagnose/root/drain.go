package root

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Drain is the switch of a torus or mesh whose nodes do not accept the arriving traffic. Links of these fabrics are
// read without direction, so back pressure cannot be followed. But under dimension-order routing all traffic to one
// switch forms a tree, and the stall, the held-back traffic and the added load are on the links of that tree.
type Drain struct {
	Device  topology.DeviceID
	Fit     float64             // how well the readings agree with the tree, 0 to 1; 0: there is no tree
	Grew    bool                // the tree was compared with the added load
	Idle    bool                // the region's links have nothing to send part of the time
	Senders []topology.DeviceID // ascending
	Meeting Meeting             // where traffic merges, whichever jobs send it

	tree float64 // the fit with all links of the tree weighted alike, comparable with that of a bottleneck
}

const (
	// drainFit is the least fit of a tree for its end to be called the root.
	drainFit = .75
	// grownFit is the same if load was added and no full link is known: with full buffers, traffic of others that is
	// held up hides how much goes where, but the added load is on the tree, and most of it at the end.
	grownFit = .5
	// unknownFit is the same if the senders are unknown, leastSenders their minimum number.
	unknownFit, leastSenders = .85, 4
	// meetsWeight weighs the evidence that traffic merges at a switch of the line, relative to the fit of known
	// senders; meetsBeside replaces it if the fit of one of their trees is at least wellFits.
	meetsWeight, meetsBeside, wellFits = 1., .02, .98
	// memberWeight is added if the end is a node of the job itself: except for file traffic, its nodes send to each
	// other, and two neighbours on a line show nearly the same.
	memberWeight = .15
	// inTree is the share of the held-back traffic that must be on links which a tree to a switch can have.
	inTree = .6
	// certainFit is the fit from which on a tree excludes jobs as senders.
	certainFit = .85
	// drainEnds bounds the number of candidate switches.
	drainEnds = 24
)

// IsRoot reports whether the tree is known well enough for its end to be a root.
func (d *Drain) IsRoot() bool { return d.Fit >= drainFit || d.Grew && d.Fit >= grownFit }

// IsCertain reports whether the tree fits well enough to exclude jobs as senders.
func (d *Drain) IsCertain() bool { return d.Fit >= certainFit }

// Sender is a job that may send the traffic held back in a region of a grid.
type Sender struct {
	Devices []topology.DeviceID // of its nodes, ascending
	Routes  *routes.Set         // of its traffic
}

// Drain finds the switch on which the traffic of a region's links converges, if any, and the index in senders of the
// one whose nodes send it; -1 if unknown. Regions with the same stalls and the same past share cached readings.
func (g *GridRegion) Drain(senders []Sender) (best Drain, from int) {
	g.check()
	if g.grid == nil {
		return best, -1
	}
	idle := g.idles()
	ends, most := g.ends()
	if len(ends) == 0 {
		return Drain{Idle: idle}, -1
	}
	meeting := g.meetingOf(ends, idle)
	if !most {
		return Drain{Idle: idle, Meeting: meeting}, -1
	}
	best, from = g.knownDrain(senders, ends)
	// Only for the grid's last dimension: with a slow link of an earlier one, a tree to the switch before it fits as
	// well.
	if best.Fit < drainFit && g.last == len(g.grid.Dims())-1 {
		if unknown := g.unknownDrain(meeting.Device); unknown.Fit > best.Fit {
			best, from = unknown, -1
		}
	}
	if best.Fit > 0 {
		g.tree.Gather(best.Senders, best.Device)
		best.tree, best.Grew = g.agreement(), g.grew
	}
	best.Meeting, best.Idle = meeting, idle
	return best, from
}

// knownDrain is the best tree from the nodes of one of the senders to one of the ends.
func (g *treeFits) knownDrain(senders []Sender, ends []topology.DeviceID) (best Drain, from int) {
	weight := meetsWeight
	for from, of := range senders {
		for i, d := range ends {
			fit := g.treeFit(of.Devices, d)
			if fit >= wellFits {
				weight = meetsBeside
			}
			_, member := slices.BinarySearch(of.Devices, d)
			if member {
				fit += memberWeight
			}
			g.trees = append(g.trees, knownTree{from, i, fit, member})
		}
	}
	if from = -1; len(g.trees) == 0 {
		return best, from
	}
	tree := slices.MaxFunc(g.trees, func(a, b knownTree) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(b.end, a.end))
	})
	line, most := g.grid.Line(ends[tree.end], g.last), math.Inf(-1)
	for _, k := range g.trees {
		d := ends[k.end]
		if score := k.fit + weight*g.scores[k.end]; k.from == tree.from && line.Has(d) && score > most {
			most = score
			best, from = Drain{Device: d, Fit: tree.fit, Senders: senders[k.from].Devices}, k.from
		}
	}
	return best, from
}

// knownTree is the tree from one of the senders to one of the ends, and how well the readings agree with it.
type knownTree struct {
	from, end int
	fit       float64
	member    bool // the end is a node of the sender's
}

// unknownDrain is the tree to the switch where the traffic of a region merges, from senders inferred from the held-back
// traffic: they may belong to a job that is in no table.
func (g *treeFits) unknownDrain(end topology.DeviceID) Drain {
	senders := g.sendersTo(end)
	if len(senders) < leastSenders {
		return Drain{}
	}
	fit := g.treeFit(senders, end)
	if fit < unknownFit {
		return Drain{}
	}
	return Drain{Device: end, Fit: fit, Senders: slices.Clone(senders)}
}

const (
	// alikeFull is the difference in load, percent of capacity, up to which links count as equally full.
	alikeFull = 5
	// leastBefore is the least traffic waiting before a full link that is a root, relative to that where the region's
	// traffic ends.
	leastBefore = .1
)

// FullLink is, on a grid, the link at a region that carries most of its capacity, if that is more than before the onset
// and the link does not stall itself. Of equally full links it is the one before which the region lies. It is NoLink if
// none is full.
func (g *GridRegion) FullLink(n *Bottleneck, d *Drain) schema.LinkID {
	best, most := schema.NoLink, float64(fullPercent)
	if g.grid == nil {
		return best
	}
	g.check()
	w := g.walkBy(g.p)
	if n.Link != schema.NoLink && !n.Slower && n.Before(d) {
		best, most = n.Link, max(most, w.UseOf(n.Link)+alikeFull)
	}
	if fuller := w.fullest(g.links, most, leastBefore*w.waitsAt(d)); fuller != schema.NoLink {
		return fuller
	}
	return best
}

// fullest is the fullest of the links at a region's switches that carry more than most percent of their capacity and
// more than before the onset, do not stall, and before which least bytes/s or more wait; NoLink if there is none.
func (w *gridWalk) fullest(links []schema.LinkID, most, least float64) (fullest schema.LinkID) {
	fullest = schema.NoLink
	w.seen.Clear()
	for _, l := range links {
		from, to := w.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if !w.seen.Add(d) {
				continue
			}
			for _, out := range w.graph.LinksAt(d) {
				use := w.UseOf(out)
				if use > most && w.grid.Dim(out) >= 0 && w.StallOf(out) < lineStall &&
					use > SteadyLoad*w.Before(out) && w.heldBefore(out) >= least {
					fullest, most = out, use
				}
			}
		}
	}
	return fullest
}

// waitsOn is the load of a link times the share of time that it stalls, bytes/s.
func (p *Pressure) waitsOn(l schema.LinkID) float64 { return p.Carries(l) * p.StallOf(l) / 100 }

// waitsAt is what waits on the links of the switch where the traffic of a region ends, bytes/s; 0 if that is unknown.
func (p *Pressure) waitsAt(d *Drain) (sum float64) {
	if end, known := d.End(); known {
		for _, l := range p.graph.LinksAt(end) {
			sum += p.waitsOn(l)
		}
	}
	return sum
}

// heldBefore is what waits on the links into a link of a grid because it is full, bytes/s: by how much more they stall
// than the link itself, as the rest waits for something downstream of it. It is the larger value of both directions.
func (w *gridWalk) heldBefore(l schema.LinkID) (most float64) {
	own := w.StallOf(l)
	from, to := w.graph.Ends(l)
	for _, at := range [2]topology.DeviceID{from, to} {
		sum := 0.
		for _, in := range w.graph.LinksAt(at) {
			stall, dim := w.StallOf(in), w.grid.Dim(in)
			if in != l && dim >= 0 && dim <= w.grid.Dim(l) && stall > own {
				sum += w.waitsOn(in) * (1 - own/stall)
			}
		}
		most = max(most, sum)
	}
	return most
}

// End is the switch where the traffic of a region ends, as far as known.
func (d *Drain) End() (end topology.DeviceID, known bool) {
	if d.Fit > 0 {
		return d.Device, true
	}
	return d.Meeting.Device, d.Meeting.IsKnown()
}
