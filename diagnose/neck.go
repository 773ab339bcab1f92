package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// neck is a link of a grid between switches that packets wait for: it carries what it can, or less than it did.
type neck struct {
	link   schema.LinkID
	tail   topology.DeviceID // the end from which packets enter it
	fit    float64           // how well what is seen and the tree that leads to it agree, 0 to 1; 0: none
	waits  float64           // share of time that packets wait for it
	score  float64           // share, by how much waits for it
	lost   float64           // share of what it carried before the onset that it does not carry now; 0 of a full link
	share  float64           // of the region's links that stall, how many it claims
	slower bool              // it carries clearly less than before the onset
}

const (
	// neckFit is the least fit of the tree before a link for it to be called the root.
	neckFit = .45
	// By how much less a link's tree may agree than that of a switch, if packets always wait for it, or if it
	// carries nothing any more: that is measured, and what a switch does not take is not.
	neckWaits, neckLost = .6, .35
	// neckStall is the most that a link stalls itself, percent, if packets wait for it.
	neckStall = 10
	// leastWaits is what is taken for a wait that was not seen.
	leastWaits = .1
	// maxNecks bounds the links of a region that are tried.
	maxNecks = 48
)

// neckOf finds the link before which the region lies: of those that are full, or carry clearly less than before,
// and do not wait themselves, the one that most of the region's links lead to and most packets wait for.
func (s *Stage) neckOf(rc *regionCase, p *pressure) neck {
	best := neck{link: schema.NoLink}
	t := s.router.grid
	if t == nil || !s.graph.Duplex() || len(s.work.held.devices) == 0 {
		return best
	}
	h := &s.work.held
	senders := rc.likeliestSenders()
	h.resetClaims()
	h.necks = h.necks[:0]
	for _, d := range h.devices {
		for _, l := range s.graph.LinksAt(d) {
			if h.tried[l] == h.round || t.keys[l].dim < 0 {
				continue
			}
			h.tried[l] = h.round
			full, slower := p.isFull(l), p.left(l) < clearlyLess && p.stallOf(l) <= neckStall
			if !full && !slower || len(h.necks) == maxNecks {
				continue
			}
			h.claimant, h.urgency = len(h.necks), max(leastWaits, p.waitsFor(l))
			n := s.neckAt(rc, senders, l, p)
			n.slower, n.waits = !full, p.waitsFor(l)
			if n.slower {
				n.lost = 1 - p.left(l)
			}
			h.necks = append(h.necks, n)
		}
	}
	h.countClaims()
	for i := range h.necks {
		n := &h.necks[i]
		n.share = h.share(i)
		if n.score = n.share * math.Sqrt(max(leastWaits, n.waits)); n.slower {
			n.score *= n.lost
		}
		if n.score > best.score {
			best = *n
		}
	}
	if rc.drain.fit >= drainFit && !best.before(&rc.drain) {
		if n := t.fullEnd(h, p); n.before(&rc.drain) {
			return n
		}
	}
	return best
}

// fullEnd is the full link at whose end the tree of all that the region holds back agrees best, whoever sends: what
// is read from files comes from storage nodes, and a job may be in no table.
func (t *gridLinks) fullEnd(h *held, p *pressure) neck {
	best := neck{link: schema.NoLink}
	for i := range h.necks {
		n := h.necks[i]
		if n.slower || n.waits < fullWaits || t.addedShare(n.link, h, p) < grewShare {
			continue
		}
		from, to := t.graph.Ends(n.link)
		n.fit = 0
		for _, tail := range [2]topology.DeviceID{from, to} {
			senders := t.sendersTo(tail, h)
			if len(senders) < leastSenders {
				continue
			}
			t.gather(senders, tail, h)
			if through := h.load[n.link] > 0; t.agreement(h, p) > n.fit && !through {
				t.gather(senders, tail, h)
				n.fit, n.tail = t.agreement(h, p), tail
			}
		}
		if n.score = n.fit * n.waits; n.score > best.score {
			best = n
		}
	}
	return best
}

// fullWaits is the least share of time that packets wait for a full link for it to be what others wait for.
const fullWaits = .1

// addedShare is the share of what a link carries that it did not before the onset.
func (t *gridLinks) addedShare(l schema.LinkID, h *held, p *pressure) float64 {
	return h.look(l, p).added / (p.useOf(l) / 100 * t.graph.Capacity(l))
}

// isFull reports whether a link carries what it can in a direction in which it does not stall: while a link stalls
// it does not send, so that in one direction both together are at most all of the time.
func (p *pressure) isFull(l schema.LinkID) bool {
	use, stall := p.useOf(l), p.stallOf(l)
	return use >= saturatedPercent-5 && (stall <= neckStall || use+stall > 100+neckStall)
}

// maxFitted bounds the failures near a region whose links are compared with it.
const maxFitted = 8

// fitFailures finds to which of the links that failed together most of the region leads.
func (s *Stage) fitFailures(rc *regionCase, p *pressure) {
	if s.router.grid == nil || !s.graph.Duplex() {
		return
	}
	senders, tried := rc.likeliestSenders(), rc.failures[:min(len(rc.failures), maxFitted)]
	h := &s.work.held
	h.dead = h.dead[:0]
	for i := range tried {
		if f := &tried[i]; f.Port != "" && f.broke() {
			h.dead = append(h.dead, f.links...)
		}
	}
	defer func() { h.dead = h.dead[:0] }()
	h.resetClaims()
	for i := range tried {
		if f := &tried[i]; f.Port != "" && len(f.links) > 0 && s.router.grid.keys[f.links[0]].dim >= 0 {
			h.claimant, h.urgency = i, max(leastWaits, p.waitsFor(f.links[0]))
			s.neckAt(rc, senders, f.links[0], p)
		}
	}
	h.countClaims()
	for i := range tried {
		tried[i].share = h.share(i)
	}
}

// waitsFor is the share of time that packets wait inside a switch for a link, where that is measured. Some devices
// count such waits at the link over which the packets came: of a neck they show nothing.
func (p *pressure) waitsFor(l schema.LinkID) float64 {
	if p.inq == nil || !p.inq.Valid.Has(int(l)) {
		return 0
	}
	return float64(p.inq.Values[l]) / 100
}

// before reports whether the region lies before the link rather than around the switch.
func (n *neck) before(d *drain) bool {
	return n.fit >= neckFit && n.fit+max(neckWaits*n.waits, neckLost*n.lost) > d.tree
}

// slowLink is the link that lost rate, if that is what a region is blamed on.
func (rc *regionCase) slowLink() schema.LinkID {
	if rc.back.slower {
		return rc.back.link
	}
	return rc.neck.link
}

// endMargin is how much better the trees at the second end of a link must fit for that end to be the root: where
// traffic waits at both, the verdict does not change ends from interval to interval.
const endMargin = .1

// neckAt is the fit of the trees of suspects that lead to a link, from the end at which it is better.
func (s *Stage) neckAt(rc *regionCase, senders []int, l schema.LinkID, p *pressure) neck {
	from, to := s.graph.Ends(l)
	ends, fits := [2]topology.DeviceID{from, to}, [2]float64{}
	for end, tail := range ends {
		for _, i := range senders {
			fits[end] = max(fits[end], s.router.grid.neckFit(rc.jobs[i].job.devices, tail, l, &s.work.held, p))
		}
	}
	n := neck{link: l, tail: from, fit: max(fits[0], fits[1])}
	if fits[1] > fits[0]+endMargin {
		n.tail = to
	}
	return n
}

// neckFit is treeFit for the part before a link of the routes that cross it from one of its ends, of an exchange
// of a job's nodes. What crosses a link of dimension k has its goal's place in the dimensions before k and its
// source's in those behind.
func (t *gridLinks) neckFit(devices []topology.DeviceID, tail topology.DeviceID, l schema.LinkID, h *held, p *pressure) float64 {
	key := t.keys[l]
	k := int(key.dim)
	at := t.graph.Device(tail).Coord[k]
	from, to := t.graph.Ends(l)
	if from == tail {
		from = to
	}
	next, size := t.graph.Device(from).Coord[k], t.grid.Dims[k]
	goals := h.goals[:0]
	for range size {
		goals = append(goals, 0)
	}
	h.goals = goals
	for _, d := range devices {
		if before, _ := t.around(d, k); before == int(key.before) {
			goals[t.graph.Device(d).Coord[k]]++
		}
	}
	for _, d := range devices {
		_, behind := t.around(d, k)
		if behind != int(key.behind) {
			continue
		}
		routes, x := 0., t.graph.Device(d).Coord[k]
		for y, n := range goals {
			if n > 0 && t.passes(x, y, at, next, size) {
				routes += n
			}
		}
		if routes > 0 && !t.isCut(d, tail, h.dead) {
			t.eachOnRoute(d, tail, func(l schema.LinkID) { h.add(l, routes) })
		}
	}
	if len(h.touched) == 0 {
		return 0
	}
	h.claim(p)
	return t.agreement(h, p)
}

// isCut reports whether what goes from one switch to another is stopped before it.
func (t *gridLinks) isCut(from, to topology.DeviceID, dead []schema.LinkID) (cut bool) {
	if len(dead) > 0 {
		t.eachOnRoute(from, to, func(l schema.LinkID) { cut = cut || slices.Contains(dead, l) })
	}
	return cut
}

// passes reports whether the way from x to y along a line goes from a to its neighbour b.
func (t *gridLinks) passes(x, y, a, b, size int) bool {
	steps, ahead := t.way(x, y, size)
	if ahead != ((a+1)%size == b) {
		return false
	}
	offset := (a - x + size) % size
	if !ahead {
		offset = (x - a + size) % size
	}
	return offset < steps
}
