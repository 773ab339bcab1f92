package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// seen is what a link shows of traffic that converges.
type seen struct {
	round uint32  // in which it was looked up
	held  float64 // waits for it, bytes/s (heldBack)
	added float64 // it carries beyond what it did before the onset, bytes/s; without a before, all
	waits float64 // share of the time that it does not send in which it stalls, 0 to 1
}

// The numbers of seen that are compared with a tree.
const (
	heldOn = iota
	addedTo
	waiting
	measures
)

// held is what the links of one region, and those of the trees that are tried, show. Sums run in the order of
// the region's links; the arrays are used again by the next region.
type held struct {
	round   uint32 // of the region
	byLink  []seen
	looked  uint32          // the round of what was looked up
	stalls  *schema.Series  // of which it is
	since   uint32          // and the round of the past that it is compared with
	links   []schema.LinkID // of the region
	inside  []uint32        // by link: the round in which it is in the region
	squares [measures]float64
	sum     float64 // of what is held back on the region
	grew    bool    // the load on the region did

	tree
	load    []float64 // by link, of the tree that is tried
	touched []schema.LinkID
	tried   []uint32 // by link: the round in which it was tried as a neck
	goals   []float64
	lines   [][]float64
	dead    []schema.LinkID // that failed near the region
	sent    []float64       // by device
	senders []topology.DeviceID
	devices []topology.DeviceID // at the region's links, ascending
	meets   []float64           // by end that is tried: how well links bear out that traffic meets there
	tries   []meeting           // the ends that are tried
	arrives []float64           // by these, how much more arrives there
	trees   []knownTree         // that are tried

	// Which of the links that are tried a stalled link waits for: what is held back of a flow grows with how much
	// waits for the link before which it stands, so that it is the one with the most routes over both, by that.
	claimant int             // that is tried
	urgency  float64         // of what is tried: the share of time that packets wait for it
	claims   []claim         // by link
	stalled  []schema.LinkID // of the region
	claimed  []schema.LinkID
	counts   []int // by claimant, of the links that any claims
	necks    []neck
}

func newHeld(g *topology.Graph) held {
	n := g.NumLinks()
	return held{looked: 1, tree: newTree(g.NumDevices()), byLink: make([]seen, n), inside: make([]uint32, n), tried: make([]uint32, n), load: make([]float64, n), claims: make([]claim, n), sent: make([]float64, g.NumDevices())}
}

// turnTo says what links show from now on: regions with the same stalls that began together share what is looked up.
func (h *held) turnTo(stalls *schema.Series, since uint32) {
	if h.stalls == stalls && h.since == since {
		return
	}
	h.stalls, h.since = stalls, since
	if h.looked++; h.looked == 0 {
		clear(h.byLink)
		h.looked = 1
	}
}

// take looks up the links of a region.
func (h *held) take(links []schema.LinkID, p *pressure) {
	h.round++
	h.links, h.squares = append(h.links[:0], links...), [measures]float64{}
	added, carried := 0., 0.
	h.sum = 0
	for _, l := range links {
		h.inside[l] = h.round
		at := h.look(l, p)
		for m, v := range at.all() {
			h.squares[m] += v * v
		}
		h.sum, added, carried = h.sum+at.held, added+at.added, carried+max(0, p.useOf(l))/100*p.graph.Capacity(l)
	}
	h.grew = added > grewShare*carried
}

func (s *seen) all() [measures]float64 { return [measures]float64{s.held, s.added, s.waits} }

// grewShare is the share of what a region carries that was added since its onset, from which on that says where
// it goes; below, only what is held back does.
const grewShare = .25

// leastFree is the least share of time that a link is taken not to send: of less, noise makes any share.
const leastFree = .1

// heldBack estimates what waits on a link, from what it carries and the share of time that it stalls: of an
// offer of o the share s is held back and (1-s)o is carried.
func (p *pressure) heldBack(l schema.LinkID) float64 {
	stall := min(maxStall, p.stallOf(l)/100)
	return p.carries(l) * stall / (1 - stall)
}

func (h *held) look(l schema.LinkID, p *pressure) *seen {
	at := &h.byLink[l]
	if at.round == h.looked {
		return at
	}
	use := max(0, p.useOf(l))
	*at = seen{round: h.looked, held: p.heldBack(l)}
	at.waits = min(1, p.stallOf(l)/100/max(leastFree, 1-use/100))
	at.added = max(0, use-max(0, p.before(l))) / 100 * p.graph.Capacity(l)
	return at
}

// sendersTo are the switches from which more leads towards a switch than arrives at them, until the next call.
func (t *gridLinks) sendersTo(end topology.DeviceID, h *held) []topology.DeviceID {
	goal := t.graph.Device(end).Coord
	for _, d := range h.devices {
		h.sent[d] = 0
	}
	for _, l := range h.links {
		dim := t.keys[l].dim
		if dim < 0 {
			continue
		}
		from, to := t.leading(l, goal)
		amount := h.byLink[l].held
		h.sent[from] += amount
		h.sent[to] -= amount
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

// ends lists the switches to which a tree can lead that has most of what is held back: of the last dimension
// it has links of one line, of the one before those of one plane, and so on, so that it can end anywhere on that
// line. It notes the switches at any of the links, ascending.
func (t *gridLinks) ends(h *held) []topology.DeviceID {
	k := len(t.grid.Dims)
	total := 0.
	lines := h.linesOf(t.grid.Dims)
	h.devices = h.devices[:0]
	for _, l := range h.links {
		key := t.keys[l]
		if key.dim < 0 {
			continue
		}
		held := h.byLink[l].held
		total += held
		lines[key.dim][key.before] += held
		from, to := t.graph.Ends(l)
		h.devices = append(h.devices, from, to)
	}
	slices.Sort(h.devices)
	h.devices = slices.Compact(h.devices)
	if total == 0 {
		return nil
	}
	type end struct {
		place int // in the dimensions before the last
		share float64
	}
	var best []end
	for _, d := range h.devices {
		place, _ := t.around(d, k-1)
		sum := 0.
		for dim := range k {
			before, _ := t.around(d, dim)
			sum += lines[dim][before]
		}
		if sum >= inTree*total && !slices.ContainsFunc(best, func(e end) bool { return e.place == place }) {
			best = append(best, end{place, sum})
		}
	}
	slices.SortStableFunc(best, func(a, b end) int { return cmp.Compare(b.share, a.share) })
	var out []topology.DeviceID
	stride := t.grid.Switches() / t.grid.Dims[k-1]
	for _, e := range best {
		for x := range t.grid.Dims[k-1] {
			if len(out) < drainEnds {
				out = append(out, t.devices[e.place+x*stride])
			}
		}
	}
	return out
}

// linesOf is an empty sum by dimension and by the place in those before it.
func (h *held) linesOf(dims []int) [][]float64 {
	places := 1
	for d, size := range dims {
		if len(h.lines) == d {
			h.lines = append(h.lines, make([]float64, places))
		}
		clear(h.lines[d])
		places *= size
	}
	return h.lines
}

// add puts routes of the tree that is tried on a link.
func (h *held) add(l schema.LinkID, routes float64) {
	if h.load[l] == 0 {
		h.touched = append(h.touched, l)
	}
	h.load[l] += routes
}

// gather adds the routes of senders to a switch.
func (t *gridLinks) gather(senders []topology.DeviceID, end topology.DeviceID, h *held) {
	for _, d := range senders {
		h.send(t.numbers[d], 1)
	}
	t.converge(end, len(t.grid.Dims), h)
}

// treeFit is how well what links show agrees with the routes of senders to a switch.
func (t *gridLinks) treeFit(senders []topology.DeviceID, end topology.DeviceID, h *held, p *pressure) float64 {
	t.gather(senders, end, h)
	held := min(1, 2*t.heldAt(end, h, p))
	var line lineFit
	if !h.grew {
		line = t.lastLine(end, h, p)
	}
	if h.grew {
		cosine := t.cosines(h, p)
		return held * (cosine[addedTo] + cosine[waiting]) / 2
	}
	cosine := t.cosines(h, p)
	amounts := line.share*line.profile + (1-line.share)*cosine[heldOn]
	return held*(amounts+cosine[waiting])/2 + inqWeight*line.inq
}

// heldAt is the share of the routes of a tree that reach its end over links which stall: what a switch does not take
// waits on the last links before it.
func (t *gridLinks) heldAt(end topology.DeviceID, h *held, p *pressure) float64 {
	routes, stalled := 0., 0.
	for _, l := range t.graph.LinksAt(end) {
		routes += h.load[l]
		if p.stallOf(l) >= stalledPercent {
			stalled += h.load[l]
		}
	}
	if routes == 0 {
		return 0
	}
	return stalled / routes
}

// agreement is how well what links show agrees with the tree that was added.
func (t *gridLinks) agreement(h *held, p *pressure) float64 {
	cosine := t.cosines(h, p)
	return (max(cosine[heldOn], cosine[addedTo]) + cosine[waiting]) / 2
}

// cosines compares how many routes of a tree pass a link with what is held back on it and what was added to it,
// and which links have any with which wait. It forgets the tree.
func (t *gridLinks) cosines(h *held, p *pressure) (out [measures]float64) {
	var dot [measures]float64
	squares, loads, count := h.squares, 0., float64(len(h.touched))
	for _, l := range h.touched {
		n, at := h.load[l], h.look(l, p)
		if h.inside[l] != h.round {
			squares[heldOn] += at.held * at.held
			squares[addedTo] += at.added * at.added
			squares[waiting] += at.waits * at.waits
		}
		dot[heldOn] += n * at.held
		dot[addedTo] += n * at.added
		dot[waiting] += at.waits
		loads += n * n
		h.load[l] = 0
	}
	h.touched = h.touched[:0]
	for m, of := range [measures]float64{loads, loads, count} {
		if of*squares[m] > 0 {
			out[m] = dot[m] / math.Sqrt(of*squares[m])
		}
	}
	return out
}

// inqWeight is what waits inside the switches at the end of a tree counts beside the tree's fit: links alone often
// cannot say which of two neighbours on a line a tree ends at.
const inqWeight = .05

// lineFit is what the links of the last dimension say on which a tree ends: all that it gathers comes together
// on them.
type lineFit struct {
	profile float64 // cosine of how many routes pass them with what is held back
	share   float64 // that profile counts: 1 where much of what the region holds back is there
	inq     float64 // at the end, of the most that waits inside the switches of the line
}

// lineShare of what is held back on a region is enough on a line for its profile to count alone.
const lineShare = .04

func (t *gridLinks) lastLine(end topology.DeviceID, h *held, p *pressure) (f lineFit) {
	k := len(t.grid.Dims)
	size := t.grid.Dims[k-1]
	stride := t.grid.Switches() / size
	at := t.grid.Number(t.graph.Device(end).Coord)
	z := at / stride
	dot, loads, squares, sum := 0., 0., 0., 0.
	most, here := 0., 0.
	for x := range size {
		l := t.next[(at+(x-z)*stride)*k+k-1]
		if l == schema.NoLink {
			continue
		}
		n, o := h.load[l], h.look(l, p)
		dot, loads, squares, sum = dot+n*o.held, loads+n*n, squares+o.held*o.held, sum+o.held
		if p.inq != nil && p.inq.Valid.Has(int(l)) {
			v := float64(p.inq.Values[l])
			most = max(most, v)
			if x == z || (x+1)%size == z {
				here += v / 2
			}
		}
	}
	if loads*squares > 0 && h.sum > 0 {
		f.profile, f.share = dot/math.Sqrt(loads*squares), min(1, sum/h.sum/lineShare)
	}
	if most > 0 {
		f.inq = here / most
	}
	return f
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

// leading are the ends of a link, that from which routes to a switch take it first.
func (t *gridLinks) leading(l schema.LinkID, goal []int) (from, to topology.DeviceID) {
	from, to = t.graph.Ends(l)
	k, dim := len(t.grid.Dims), int(t.keys[l].dim)
	size := t.grid.Dims[dim]
	far, _ := t.way(int(t.coords[int(t.numbers[from])*k+dim]), goal[dim], size)
	near, _ := t.way(int(t.coords[int(t.numbers[to])*k+dim]), goal[dim], size)
	if far < near {
		return to, from
	}
	return from, to
}
