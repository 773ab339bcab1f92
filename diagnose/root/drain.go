package root

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Drain is the switch of a torus or mesh whose nodes do not take what arrives. The links of these fabrics know no
// direction, so that back pressure cannot be followed; but under dimension-order routing all that goes to one
// switch forms a tree, and what stalls, what is held back and what was added is on the links of the tree.
type Drain struct {
	Device  topology.DeviceID
	Fit     float64             // how well what is seen and the tree agree, 0 to 1; 0: none
	Grew    bool                // what is compared is what was added
	Idle    bool                // the region's links have nothing to send for a part of the time
	Senders []topology.DeviceID // ascending
	Meeting Meeting             // where the traffic comes together, whichever jobs send it

	known      bool    // the senders are a job's nodes
	tree       float64 // the fit by all links of the tree alike, as that of a neck is
	mostlyIdle bool    // most of the time that they do not send
}

const (
	// drainFit is the least fit of a tree for its end to be called the root.
	drainFit = .75
	// grownFit is the same where load was added and no full link is known: in full buffers what is held up of others hides
	// how much of it goes where, but what was added lies on the tree, and most where it ends.
	grownFit = .5
	// unknownFit is the same where the senders are not known, leastSenders how many they must be.
	unknownFit, leastSenders = .85, 4
	// meetsWeight is what it counts beside the fit of known senders that traffic meets at a switch of the line, or
	// meetsBeside, where a tree of theirs fits so well (wellFits) that it says more.
	meetsWeight, meetsBeside, wellFits = 1, .02, .98
	// memberWeight is what it counts that the end is a node of the job itself: what its nodes send goes to one of them, unless
	// it is traffic with files, and two neighbours on a line show nearly the same.
	memberWeight = .15
	// heldMember is what that counts more where no load was added and something always waits: full buffers show nearly the same
	// on both sides of the end.
	heldMember = .65
	// inTree is the share of what is held back that must lie on links which a tree to a switch can have.
	inTree = .6
	// certainFit is from which fit on a tree says who does not send.
	certainFit = .85
	// drainEnds bounds the switches that are tried.
	drainEnds = 24
)

// IsRoot reports whether the tree is known well enough for its end to be a root.
func (d *Drain) IsRoot() bool { return d.Fit >= drainFit || d.Grew && d.Fit >= grownFit }

// IsCertain reports whether the tree fits so well that it says who does not send.
func (d *Drain) IsCertain() bool { return d.Fit >= certainFit }

// Sender is who may send what a region of a grid holds back: a job.
type Sender struct {
	Devices []topology.DeviceID // of its nodes, ascending
	Routes  *routes.Set         // of its traffic
}

// Drain finds the switch that the traffic of a region's links converges on, if it does, and the place in senders of the one
// whose nodes send; -1 if that is not known. Regions with the same stalls and the same since, which changes with what pressure
// is compared with, share what is looked up.
func (f *Finder) Drain(p *Pressure, links []schema.LinkID, senders []Sender, since uint32) (best Drain, from int) {
	f.held.readings.turnTo(p.Stall, since)
	if f.grid == nil || !f.graph.Duplex() {
		return best, -1
	}
	h := &f.held
	h.take(links, p)
	idle, mostly := h.idles()
	ends, most := h.ends(p)
	if len(ends) == 0 {
		return Drain{Idle: idle, mostlyIdle: mostly}, -1
	}
	meeting := h.meetingOf(ends, idle, p)
	if !most {
		return Drain{Idle: idle, mostlyIdle: mostly, Meeting: meeting}, -1
	}
	best, from = h.knownDrain(senders, ends, idle, p)
	// Before a slow link of an earlier dimension, the senders of a tree to the switch before it would fit as well.
	if best.Fit < drainFit && h.last == len(h.grid.Dims())-1 {
		if unknown := h.unknownDrain(meeting.Device, p); unknown.Fit > best.Fit {
			best, from = unknown, -1
		}
	}
	best.known = from >= 0
	if best.Fit > 0 {
		h.tree.Gather(best.Senders, best.Device)
		best.tree, best.Grew = h.agreement(), h.grew
	}
	best.Meeting, best.Idle, best.mostlyIdle = meeting, idle, mostly
	return best, from
}

// knownDrain is the tree to one of the ends from the nodes of one of the senders.
func (h *held) knownDrain(senders []Sender, ends []topology.DeviceID, idle bool, p *Pressure) (best Drain, from int) {
	weight := 1. * meetsWeight
	for from, of := range senders {
		for i, d := range ends {
			fit := h.treeFit(of.Devices, d, p)
			if fit >= wellFits {
				weight = meetsBeside
			}
			_, member := slices.BinarySearch(of.Devices, d)
			if member {
				fit += memberWeight
			}
			h.trees = append(h.trees, knownTree{from, i, fit, member})
		}
	}
	if from = -1; len(h.trees) == 0 {
		return best, from
	}
	tree := slices.MaxFunc(h.trees, func(a, b knownTree) int { return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(b.end, a.end)) })
	line, most := h.grid.Line(ends[tree.end], h.last), math.Inf(-1)
	for _, k := range h.trees {
		d, meets := ends[k.end], h.scores[k.end]
		if k.member && !idle && !h.tries[k.end].Grew {
			meets += heldMember
		}
		if score := k.fit + weight*meets; k.from == tree.from && line.Has(d) && score > most {
			most = score
			best, from = Drain{Device: d, Fit: tree.fit, Senders: senders[k.from].Devices}, k.from
		}
	}
	return best, from
}

// knownTree is the tree from one of the senders to one of the ends, and how well what is seen agrees with it.
type knownTree struct {
	from, end int
	fit       float64
	member    bool // the end is a node of the sender's
}

// unknownDrain is the tree to the switch where the traffic of a region meets, with senders that are taken from what is held
// back: they may be of a job that no table has.
func (h *held) unknownDrain(end topology.DeviceID, p *Pressure) Drain {
	senders := h.sendersTo(end)
	if len(senders) < leastSenders {
		return Drain{}
	}
	fit := h.treeFit(senders, end, p)
	if fit < unknownFit {
		return Drain{}
	}
	return Drain{Device: end, Fit: fit, Senders: slices.Clone(senders)}
}

const (
	// alikeFull is within how many percent of their capacity links are as full as each other.
	alikeFull = 5
	// leastBefore of what waits where a region's traffic ends must wait before a full link for it to be the root.
	leastBefore = .1
)

// FullLink is, on a grid, the link at a region that carries most of its capacity, if that is more than before the onset and
// the link does not stall itself; of several alike the one before which the region lies or, where links are idle for most
// of the time that they do not send, so that stall says how much waits, the one before which most is held back. It is NoLink where none is full.
func (p *Pressure) FullLink(links []schema.LinkID, n *Neck, d *Drain) schema.LinkID {
	best, most := schema.NoLink, float64(fullPercent)
	if p.grid == nil {
		return best
	}
	before := n.Link != schema.NoLink && !n.Slower && n.Before(d)
	if before {
		best, most = n.Link, max(most, p.UseOf(n.Link)+alikeFull)
	}
	p.listFull(links, leastBefore*p.waitsAt(d))
	fullest := most - alikeFull
	for _, f := range p.ends.full {
		if fullest = max(fullest, f.use); f.use > most {
			best, most = f.link, f.use
		}
	}
	if !d.mostlyIdle {
		return best
	}
	held := -1.
	if before {
		best, held = n.Link, p.heldBefore(n.Link)
	}
	for _, f := range p.ends.full {
		if f.use >= fullest-alikeFull && f.held > held {
			best, held = f.link, f.held
		}
	}
	return best
}

// fullLink is a link of a grid that carries most of its capacity.
type fullLink struct {
	link schema.LinkID
	use  float64 // percent of its capacity
	held float64 // waits before it, bytes/s (heldBefore)
}

// listFull lists the links at those of a region that are full, more so than before the onset, and do not stall, and before which at
// least so much waits.
func (p *Pressure) listFull(links []schema.LinkID, least float64) {
	e := p.ends
	e.full = e.full[:0]
	e.round++
	for _, l := range links {
		from, to := p.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if e.seen[d] == e.round {
				continue
			}
			e.seen[d] = e.round
			for _, out := range p.graph.LinksAt(d) {
				if use := p.UseOf(out); use > fullPercent && p.grid.Dim(out) >= 0 && p.StallOf(out) < lineStall && use > SteadyLoad*p.Before(out) {
					if held := p.heldBefore(out); held >= least {
						e.full = append(e.full, fullLink{out, use, held})
					}
				}
			}
		}
	}
}

// waitsOn is what a link carries in the share of the time that it stalls, bytes/s.
func (p *Pressure) waitsOn(l schema.LinkID) float64 { return p.Carries(l) * p.StallOf(l) / 100 }

// waitsAt is what waits on the links of the switch where the traffic of a region ends, bytes/s; 0 where that is not known.
func (p *Pressure) waitsAt(d *Drain) (sum float64) {
	if end, known := d.End(); known {
		for _, l := range p.graph.LinksAt(end) {
			sum += p.waitsOn(l)
		}
	}
	return sum
}

// heldBefore is what waits on the links that lead into a link of a grid because it is full, bytes/s: by what they stall beyond
// what it does itself, as the rest waits for what is behind it. It is that of the direction in which it is more.
func (p *Pressure) heldBefore(l schema.LinkID) (most float64) {
	own := p.StallOf(l)
	from, to := p.graph.Ends(l)
	for _, at := range [2]topology.DeviceID{from, to} {
		sum := 0.
		for _, in := range p.graph.LinksAt(at) {
			if stall := p.StallOf(in); in != l && p.grid.Dim(in) >= 0 && p.grid.Dim(in) <= p.grid.Dim(l) && stall > own {
				sum += p.waitsOn(in) * (1 - own/stall)
			}
		}
		most = max(most, sum)
	}
	return most
}
