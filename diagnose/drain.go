package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// drain is the switch of a torus or mesh whose nodes do not take what arrives. The links of these fabrics know no
// direction, so that back pressure cannot be followed; but under dimension-order routing all that goes to one
// switch forms a tree, and what is held back on each link is in proportion to how many of the senders' routes
// pass it.
type drain struct {
	device topology.DeviceID
	fit    float64 // cosine of what is held back and of the tree's load, 0 to 1; 0: none
	job    *job    // whose nodes send; nil: not known
}

const (
	// drainFit is the least fit of a tree for its end to be called the root.
	drainFit = .8
	// unknownFit is the same where the senders are not known, leastSenders how many they must be.
	unknownFit, leastSenders = .9, 4
	// inTree is the share of what is held back that must lie on links which a tree to a switch can have.
	inTree = .6
	// drainSenders bounds the jobs whose nodes are tried as senders, drainNodes how many nodes of one,
	// and drainEnds the switches that are tried.
	drainSenders, drainNodes, drainEnds = 3, 64, 16
)

// heldBack estimates what waits on a link, from what it carries and the share of time that it stalls: of an
// offer of o the share s is held back and (1-s)o is carried.
func (p *pressure) heldBack(l schema.LinkID) float64 {
	stall := min(maxStall, p.stallOf(l)/100)
	return max(0, p.useOf(l)) / 100 * p.graph.Capacity(l) * stall / (1 - stall)
}

// held is what waits on the links of one region, by the place of each in the region's Links, so that sums run in
// one order; the arrays by link are used again by the next region.
type held struct {
	links   []schema.LinkID
	amounts []float64
	squares float64 // sum of the amounts' squares
	place   []int32 // by link: its place in links plus 1, 0 outside of the region

	load    []float64 // by link, of the tree that is tried
	touched []schema.LinkID
	sent    []float64 // by device
	senders []topology.DeviceID
	devices []topology.DeviceID
}

func newHeld(g *topology.Graph) held {
	return held{place: make([]int32, g.NumLinks()), load: make([]float64, g.NumLinks()), sent: make([]float64, g.NumDevices())}
}

// take fills in what waits on the links of a region.
func (h *held) take(links []schema.LinkID, p *pressure) {
	for _, l := range h.links {
		h.place[l] = 0
	}
	h.links, h.amounts, h.squares = append(h.links[:0], links...), h.amounts[:0], 0
	for i, l := range links {
		v := p.heldBack(l)
		h.place[l] = int32(i) + 1
		h.amounts = append(h.amounts, v)
		h.squares += v * v
	}
}

// drainOf finds the switch that a region's traffic converges on, if it does.
func (s *Stage) drainOf(rc *regionCase, p *pressure) drain {
	var best drain
	if s.router.grid == nil || !s.graph.Duplex() {
		return best
	}
	h := &s.work.held
	h.take(rc.region.Links, p)
	ends := s.router.grid.ends(h)
	if len(ends) == 0 {
		return best
	}
	for _, i := range rc.likeliestSenders() {
		for _, d := range ends {
			if fit := s.router.grid.treeFit(rc.jobs[i].job.devices, d, h, p); fit > best.fit {
				best = drain{device: d, fit: fit, job: rc.jobs[i].job}
			}
		}
	}
	if best.fit >= drainFit {
		return best
	}
	for _, d := range ends { // the senders may be of a job that nobody knows
		if senders := s.router.grid.sendersTo(d, h); len(senders) >= leastSenders {
			if fit := s.router.grid.treeFit(senders, d, h, p); fit >= unknownFit && fit > best.fit {
				best = drain{device: d, fit: fit}
			}
		}
	}
	return best
}

// likeliestSenders are the jobs most of whose exchange lies on the region, as indices.
func (rc *regionCase) likeliestSenders() []int {
	var out []int
	for i := range rc.jobs {
		if c := &rc.jobs[i]; max(c.cross, c.gate, c.way) >= rootShare && len(c.job.devices) > 1 {
			out = append(out, i)
		}
	}
	weight := func(i int) float64 { return max(rc.jobs[i].cross, rc.jobs[i].gate) + rc.jobs[i].burden }
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	return out[:min(len(out), drainSenders)]
}

// sendersTo are the switches from which more leads towards a switch than arrives at them, until the next call.
func (t *gridLinks) sendersTo(end topology.DeviceID, h *held) []topology.DeviceID {
	goal := t.graph.Device(end).Coord
	for _, d := range h.devices {
		h.sent[d] = 0
	}
	for i, l := range h.links {
		dim := t.keys[l].dim
		if dim < 0 {
			continue
		}
		from, to := t.graph.Ends(l)
		size := t.grid.Dims[dim]
		far, _ := t.way(t.graph.Device(from).Coord[dim], goal[dim], size)
		near, _ := t.way(t.graph.Device(to).Coord[dim], goal[dim], size)
		if far < near {
			from, to = to, from
		}
		h.sent[from] += h.amounts[i]
		h.sent[to] -= h.amounts[i]
	}
	var own []float64
	for _, d := range h.devices {
		if v := h.sent[d]; v > 0 {
			own = append(own, v)
		}
	}
	if len(own) == 0 {
		return nil
	}
	usual := medianOf(own)
	h.senders = h.senders[:0]
	for _, d := range h.devices {
		if d != end && h.sent[d] > usual/2 {
			h.senders = append(h.senders, d)
		}
	}
	return h.senders
}

// ends lists the switches at the links to which a tree can lead that has most of what is held back: of the last
// dimension it has links of one line, of the one before those of one plane, and so on. It notes the switches at
// any of the links, ascending.
func (t *gridLinks) ends(h *held) []topology.DeviceID {
	k := len(t.grid.Dims)
	total := 0.
	lines := make([]map[int32]float64, k) // by dimension and the place in those before it
	for d := range lines {
		lines[d] = map[int32]float64{}
	}
	h.devices = h.devices[:0]
	for i, l := range h.links {
		key := t.keys[l]
		if key.dim < 0 {
			continue
		}
		total += h.amounts[i]
		lines[key.dim][key.before] += h.amounts[i]
		from, to := t.graph.Ends(l)
		h.devices = append(h.devices, from, to)
	}
	slices.Sort(h.devices)
	h.devices = slices.Compact(h.devices)
	sums := make(map[topology.DeviceID]float64, len(h.devices))
	var out []topology.DeviceID
	for _, d := range h.devices {
		for dim := range k {
			before, _ := t.around(d, dim)
			sums[d] += lines[dim][int32(before)]
		}
		if total > 0 && sums[d] >= inTree*total {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b topology.DeviceID) int { return cmp.Compare(sums[b], sums[a]) })
	return out[:min(len(out), drainEnds)]
}

// treeFit is the cosine of what is held back on links, and of how many of the senders' routes to a switch pass
// them.
func (t *gridLinks) treeFit(senders []topology.DeviceID, end topology.DeviceID, h *held, p *pressure) float64 {
	step := 1 + len(senders)/drainNodes
	for i := 0; i < len(senders); i += step {
		t.eachOnRoute(senders[i], end, func(l schema.LinkID) {
			if h.load[l] == 0 {
				h.touched = append(h.touched, l)
			}
			h.load[l]++
		})
	}
	dot, loads, helds := 0., 0., h.squares
	for _, l := range h.touched {
		n, amount := h.load[l], 0.
		if at := h.place[l]; at > 0 {
			amount = h.amounts[at-1]
		} else {
			amount = p.heldBack(l)
			helds += amount * amount
		}
		dot += n * amount
		loads += n * n
		h.load[l] = 0
	}
	h.touched = h.touched[:0]
	if loads == 0 || helds == 0 {
		return 0
	}
	return dot / math.Sqrt(loads*helds)
}

// eachOnRoute visits the links between two switches, dimension by dimension.
func (t *gridLinks) eachOnRoute(from, to topology.DeviceID, visit func(schema.LinkID)) {
	k, stride := len(t.grid.Dims), 1
	goal := t.graph.Device(to).Coord
	at := t.grid.Number(t.graph.Device(from).Coord)
	for dim, size := range t.grid.Dims {
		x := at / stride % size
		steps, ahead := t.way(x, goal[dim], size)
		for ; steps > 0; steps-- {
			next, tail := (x+1)%size, x
			if !ahead {
				next = (x - 1 + size) % size
				tail = next
			}
			if l := t.next[(at+(tail-x)*stride)*k+dim]; l != schema.NoLink {
				visit(l)
			}
			at += (next - x) * stride
			x = next
		}
		stride *= size
	}
}

// fullLink is, on a grid, the link of a region or beside it that carries what it can, and for which packets wait
// inside a switch most of the time: it does not stall itself.
func (s *Stage) fullLink(rc *regionCase, p *pressure) schema.LinkID {
	best, most := schema.NoLink, float64(stalledPercent)
	if s.router.grid == nil || p.inq == nil {
		return best
	}
	for _, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			for _, out := range s.graph.LinksAt(d) {
				if !p.inq.Valid.Has(int(out)) || p.useOf(out) < saturatedPercent {
					continue
				}
				if v := float64(p.inq.Values[out]); v > most {
					best, most = out, v
				}
			}
		}
	}
	return best
}
