package trees

import (
	"math"
	"math/bits"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// shares finds which causes each stalled link belongs to. From the sinks upstream, a cause predicts the stall of a
// link as the stall of what the link waits for times the cause's fall from hop to hop (attenuation). A link gets the
// cause, or the two together, whose prediction is nearest.
type shares struct {
	minMean float64 // the least stall of a region's part, percent
	of      index.By[index.Node, partList]
	fall    index.By[causeID, float64]
	misfit  index.By[index.Node, float64] // residual of its stall from its causes' prediction, in deviations
	falls   []fallOf
	sorted  []fallOf                   // see sortFalls
	spread  index.By[causeID, float64] // see findSpreads
	known   index.By[causeID, float64] // its sinks of which the spread is known
	one     [maxParts]float64          // by candidate cause of a node: what it predicts
	part    [maxParts]float64          // by candidate cause of a node: what it contributes if the node waits for it
	costs   [1 << maxParts]float64     // by set of a node's causes: see choose
	atSink  index.By[index.Node, bool]
	members index.Lists[causeID, index.Node] // by cause: nodes
}

const (
	maxParts = 6
	// The fall per hop is usualFall while too few links show it; its upper bound; and how many links are enough.
	mostFall, fewestFalls = 1.2, 4
	explained             = 2       // deviations within which the assumed fall explains a link
	voteWidth             = 1.34986 // a link votes for the causes within that factor of the nearest, e^.3
	fallWidth             = 1.12    // ratios within that factor are one
	// Costs, in deviations: of each further cause, and of a thin one, such as a port to a host beside an exchange;
	secondCost, portCost = .5, 2
	// of an exchange on a link of a leaf that takes no part in it, or of its absence where the leaf does;
	partnerCost = 3
	mostAtOnce  = 2 // causes of one link
	// oddPort is the deviations by which a port that is another cause differs from what else waits at its switch.
	oddPort = 4
)

// find finds the causes of all nodes, hop by hop upstream.
func (h *shares) find(m *analysis) {
	h.of, h.fall = scratch.Slice(h.of, len(m.Links)), scratch.Slice(h.fall, 2*len(m.sinks.all))
	h.misfit = scratch.Slice(h.misfit, len(m.Links))
	h.startFalls(m)
	h.findSpreads(m)
	for i := range h.of {
		h.of[i].n, h.misfit[i] = 0, 0
	}
	for first, end := 0, 0; first < len(m.order); first = end { // hop by hop
		rank := m.rank[m.order[first]]
		for end = first; end < len(m.order) && m.rank[m.order[end]] == rank; end++ {
		}
		isAny := h.gather(m, m.order[first:end])
		h.fitFalls()
		if isAny { // else it would change nothing
			h.refit(m, m.order[first:end])
		}
		for _, i := range m.order[first:end] {
			if !h.atSink[i] && h.of[i].n > 0 {
				set := h.choose(m, i)
				all := h.likely(h.of[i].n, m.Stall[i], set)
				h.misfit[i] = math.Abs(m.Stall[i]-min(100, h.predicted(h.of[i].n, set))) / m.Noise.Sigma(m.Stall[i])
				h.take(i, h.withTwins(&m.sinks, i, set)|all)
			}
		}
	}
}

// findSpreads finds by how much the links that wait at one sink of a cause differ, in deviations of the noise: its
// predictions are off by as much, since each link has its own traffic. What is usual in the snapshot counts as one more
// sink.
func (h *shares) findSpreads(m *analysis) {
	h.spread, h.known = scratch.Zeroed(h.spread, len(h.fall)), scratch.Zeroed(h.known, len(h.fall))
	m.sinks.sample = m.sinks.sample[:0]
	for a := range m.sinks.all.Len() {
		if x := &m.sinks.all[a]; x.fromSwitches >= backpressure.MinFeeders {
			cause := m.causes.causeOf(a)
			h.spread[cause], h.known[cause] = h.spread[cause]+x.deviation, h.known[cause]+1
			m.sinks.sample = append(m.sinks.sample, x.deviation)
		}
	}
	usual := 1.
	if len(m.sinks.sample) > 0 {
		usual = median.Of(m.sinks.sample)
	}
	for a := range h.spread {
		h.spread[a] = (h.spread[a] + usual) / (h.known[a] + 1)
	}
}

// gather collects the candidate causes of the nodes of a hop, and their votes; it reports whether any node has
// several.
func (h *shares) gather(m *analysis, nodes []index.Node) (isAny bool) {
	h.falls = h.falls[:0]
	was := index.Node(-1) // the last node that inherits its causes from what it waits for
	for _, i := range nodes {
		if h.atSink[i] = h.setAtSink(m, i); h.atSink[i] {
			continue
		}
		if was >= 0 && isSameList(m.after(i), m.after(was)) {
			h.of[i].n = copy(h.of[i].at[:], h.of[was].list())
		} else {
			h.predict(&m.trees, i)
		}
		was = i
		isAny = isAny || h.of[i].n > 1
		h.vote(m, i)
	}
	return isAny
}

// refit fits the falls again, to the links that one cause alone explains best.
func (h *shares) refit(m *analysis, nodes []index.Node) {
	h.falls = h.falls[:0]
	for _, i := range nodes {
		if h.atSink[i] || h.of[i].n == 0 {
			continue
		}
		if set := h.choose(m, i); bits.OnesCount(set) == 1 {
			p := h.of[i].at[bits.TrailingZeros(set)]
			h.falls = append(h.falls, newFallOf(p.cause, m.Stall[i]/p.stall, true))
		}
	}
	h.fitFalls()
}

// setAtSink gives a node that waits at a sink the sink's cause, or the two that add up there; false if it waits at
// none.
func (h *shares) setAtSink(m *analysis, i index.Node) bool {
	a := m.sinks.feeding[i]
	if m.sink[i] >= 0 {
		a = m.sinks.byPlace[m.sink[i]]
	}
	if a < 0 {
		return false
	}
	x, toHost := &m.sinks.all[a], m.port[i]
	if x.others > 0 && m.sink[i] < 0 {
		return false
	}
	h.misfit[i] = math.Abs(m.Stall[i]-x.stall) / m.Noise.Sigma(m.Stall[i])
	usual := x.port
	if x.hasManyPorts() {
		usual = x.portMean()
	} else if m.causes.isOfExchange(a) {
		usual = x.stall
	}
	if toHost && math.Abs(m.Stall[i]-usual) > oddPort*m.Noise.Sigma(m.Stall[i]) && math.Abs(math.Log(m.Stall[i]/usual)) > oddPort*x.portSpread {
		h.of[i].set(part{cause: m.sinks.portCause(a), stall: m.Stall[i]})
		return true
	}
	switch two := m.causes.double[a]; {
	case two.isNone():
		h.of[i].set(part{cause: m.causes.causeOf(a), stall: m.Stall[i]})
	case two.other != ownTree:
		one, other := m.causes.bothAt(a)
		h.of[i].set(part{cause: one, stall: m.causes.levels[two.exchange].stall()}, part{cause: other, stall: m.causes.levels[two.other].stall()})
	case toHost:
		h.of[i].set(part{cause: m.causes.causeOf(a), stall: m.causes.restAt(&m.trees, &m.sinks, a)})
	default:
		h.setBeside(m, i, a)
	}
	return true
}

// predict collects the causes of what a node waits for.
func (h *shares) predict(t *trees, i index.Node) {
	for _, j := range t.after(i) {
		if t.rank[j] >= t.rank[i] {
			continue // a cycle
		}
		for _, p := range h.of[j].list() {
			h.of[i].add(p)
		}
	}
}

// take keeps only those of a node's causes that are in a set, each with what it contributes.
func (h *shares) take(i index.Node, set uint) {
	from, n := &h.of[i], 0
	for k, p := range from.list() {
		if set>>k&1 != 0 {
			from.at[n] = part{cause: p.cause, stall: h.part[k]}
			n++
		}
	}
	from.n = n
	from.sort()
}

// rename updates all parts after causes were joined.
func (h *shares) rename(c *causes) {
	for i := range h.of {
		p := &h.of[i]
		for k := range p.list() {
			p.at[k].cause = c.sets.Find(p.at[k].cause)
		}
		p.unite()
	}
}

// main is the cause of most of a node's stall, or -1.
func (h *shares) main(i index.Node) causeID {
	if h.of[i].n == 0 {
		return -1
	}
	return h.of[i].at[0].cause
}

// listMembers lists the nodes of each cause.
func (h *shares) listMembers(overlap bool) {
	m := &h.members
	n := len(h.fall)
	m.Off = scratch.Zeroed(m.Off, n+2)
	counted := func(i index.Node) []part {
		if !overlap {
			return h.of[i].at[:min(1, h.of[i].n)]
		}
		return h.of[i].list()
	}
	for i := range h.of.Len() {
		for _, p := range counted(i) {
			m.Off[p.cause+2]++
		}
	}
	for a := range n {
		m.Off[a+2] += m.Off[a+1]
	}
	m.At = scratch.Slice(m.At, int(m.Off[n+1]))
	for i := range h.of.Len() {
		for _, p := range counted(i) {
			m.At[m.Off[p.cause+1]] = i
			m.Off[p.cause+1]++
		}
	}
	m.Off = m.Off[:n+1]
}
