package segment

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// shares finds which causes each stalled link belongs to. From the sinks upstream, the stall of a link is
// predicted by that of what it waits for, times the share by which the cause's stall falls from hop to hop;
// of one cause or two that add up, those count whose prediction is nearest.
type shares struct {
	of      []partList // by node
	fall    []float64  // by cause
	falls   []fallOf
	members linkLists // by cause: nodes
	scratch partList
}

// part is what a cause contributes to the stall of a link, in percent.
type part struct {
	cause int32
	stall float64
}

// partList is a few parts, the largest first.
type partList struct {
	at [maxParts]part
	n  int
}

type fallOf struct {
	cause int32
	ratio float64
}

const (
	maxParts = 6
	// The share by which stall falls from hop to hop, while too few links say it; its bound; and how many.
	usualFall, mostFall, fewestFalls = .8, 1.2, 4
	// In deviations: what a second cause must explain, and one that is a port to a host beside an exchange.
	secondCost, portCost = .5, 2
	// that an exchange adds to what leaves a leaf that takes no part in it, or adds nothing where it does.
	partnerCost = 3
	mostAtOnce  = 3 // causes of one link
	// oddPort is how many deviations a port differs from what else waits at its switch if it is another cause.
	oddPort = 4
)

func (p *partList) list() []part { return p.at[:p.n] }

// add takes in a part; of one cause the larger counts.
func (p *partList) add(x part) {
	for i := range p.list() {
		if p.at[i].cause == x.cause {
			p.at[i].stall = max(p.at[i].stall, x.stall)
			return
		}
	}
	if p.n < maxParts {
		p.n++
	} else if p.at[maxParts-1].stall >= x.stall {
		return
	}
	p.at[p.n-1] = x
	p.sort()
}

func (p *partList) sort() {
	list := p.list()
	for i := 1; i < len(list); i++ { // few, and nearly sorted
		for j := i; j > 0 && before(list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func before(a, b part) bool { return a.stall > b.stall || a.stall == b.stall && a.cause < b.cause }

// unite sums the parts of one cause.
func (p *partList) unite() {
	n := 0
	for _, x := range p.list() {
		if k := slices.IndexFunc(p.at[:n], func(y part) bool { return y.cause == x.cause }); k >= 0 {
			p.at[k].stall += x.stall
			continue
		}
		p.at[n] = x
		n++
	}
	p.n = n
	p.sort()
}

func (p *partList) set(parts ...part) {
	p.n = copy(p.at[:], parts)
	p.unite()
}

func (h *shares) find(t *trees, s *sinks, c *causes, minMean float64) {
	h.of, h.fall = resize(h.of, len(t.links)), resize(h.fall, 2*len(s.all))
	h.falls = h.falls[:0]
	for a := range h.fall {
		h.fall[a] = usualFall
	}
	for i := range h.of {
		h.of[i].n = 0
	}
	for _, i := range t.order {
		if h.setAtSink(t, s, c, i) {
			continue
		}
		h.predict(t, c, i)
		if p := &h.scratch; p.n == 1 {
			h.falls = append(h.falls, fallOf{p.at[0].cause, t.stall[i] / p.at[0].stall})
			p.at[0].stall = t.stall[i]
		} else {
			for k := range p.list() {
				p.at[k].stall = min(p.at[k].stall, t.stall[i])
			}
			p.sort()
		}
		h.of[i] = h.scratch
	}
	h.fitFalls()
	for _, i := range t.order {
		if h.setAtSink(t, s, c, i) {
			continue
		}
		h.predict(t, c, i)
		if h.scratch.n == 1 {
			h.scratch.at[0].stall = t.stall[i]
		} else {
			h.choose(t, s, c, i, minMean)
		}
		h.of[i] = h.scratch
	}
}

// setAtSink gives a node that waits at a sink to the sink's cause, or to the two that add up there.
func (h *shares) setAtSink(t *trees, s *sinks, c *causes, i int32) bool {
	a := s.feeding[i]
	if t.sink[i] >= 0 {
		a = s.at[t.sink[i]]
	}
	if a < 0 {
		return false
	}
	x, toHost := &s.all[a], t.waits.toHost(t.links[i])
	exchange := c.levels[c.level.find(a)]
	if toHost && exchange.isExchange() && math.Abs(t.stall[i]-x.stall) > oddPort*t.noise.sigma(t.stall[i]) {
		h.of[i].set(part{int32(len(s.all)) + a, t.stall[i]})
		return true
	}
	double := c.double[a]
	switch {
	case double[0] == noDouble:
		h.of[i].set(part{c.sets.find(a), t.stall[i]})
	case double[1] != a:
		h.of[i].set(part{c.sets.find(double[0]), c.levels[double[0]].stall()}, part{c.sets.find(double[1]), c.levels[double[1]].stall()})
	case toHost:
		h.of[i].set(part{c.sets.find(a), x.stall - c.levels[double[0]].stall()})
	default:
		h.of[i].set(part{c.sets.find(double[0]), c.levels[double[0]].stall()}, part{c.sets.find(a), x.stall - c.levels[double[0]].stall()})
	}
	return true
}

// predict gathers in scratch the causes of what a node waits for; weak ones only if there are no others.
func (h *shares) predict(t *trees, c *causes, i int32) {
	for _, weak := range [2]bool{false, true} {
		h.scratch.n = 0
		for _, j := range t.after(i) {
			if t.rank[j] >= t.rank[i] {
				continue // a cycle
			}
			for _, p := range h.of[j].list() {
				if c.weak[p.cause] == weak {
					h.scratch.add(p)
				}
			}
		}
		if h.scratch.n > 0 {
			return
		}
	}
}

func (h *shares) fitFalls() {
	slices.SortFunc(h.falls, func(a, b fallOf) int { return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.ratio, b.ratio)) })
	for i := 0; i < len(h.falls); {
		j := i
		for j < len(h.falls) && h.falls[j].cause == h.falls[i].cause {
			j++
		}
		if j-i >= fewestFalls {
			h.fall[h.falls[i].cause] = min(mostFall, h.falls[(i+j)/2].ratio)
		}
		i = j
	}
}

// choose leaves of the causes in scratch those, three at most, that predict a node's stall best.
func (h *shares) choose(t *trees, s *sinks, c *causes, i int32, minMean float64) {
	stall := t.stall[i]
	leaf := t.leafOf(i)
	from := h.scratch
	n := from.n
	sigma := t.noise.sigma(stall)
	var one, with, without [maxParts]float64
	for k, p := range from.list() {
		one[k] = p.stall * h.fall[p.cause]
		if int(p.cause) >= len(s.all) {
			with[k] += portCost
		} else if leaf >= 0 && c.isExchange(p.cause) {
			if c.takesPart(s, leaf, p.cause) {
				without[k] += partnerCost
			} else {
				with[k] += partnerCost
			}
		}
	}
	best, chosen := math.Inf(1), 0
	for set := 1; set < 1<<n; set++ {
		size := bits.OnesCount(uint(set))
		if size > mostAtOnce {
			continue
		}
		sum, off, least := 0., secondCost*float64(size-1), math.Inf(1)
		for k := range n {
			if set>>k&1 != 0 {
				sum, off, least = sum+one[k], off+with[k], min(least, one[k])
			} else {
				off += without[k]
			}
		}
		if size > 1 && least < minMean {
			continue
		}
		if off += math.Abs(stall-min(100, sum)) / sigma; off < best {
			best, chosen = off, set
		}
	}
	h.scratch.n = 0
	total := 0.
	for k := range n {
		if chosen>>k&1 != 0 {
			total += one[k]
		}
	}
	for k, p := range from.list() {
		if chosen>>k&1 != 0 {
			h.scratch.add(part{p.cause, stall * one[k] / total})
		}
	}
}

// rename gives every part the cause that its own has been joined to.
func (h *shares) rename(c *causes) {
	for i := range h.of {
		p := &h.of[i]
		for k := range p.list() {
			p.at[k].cause = c.sets.find(p.at[k].cause)
		}
		p.unite()
	}
}

// main is the cause of most of a node's stall, or -1.
func (h *shares) main(i int32) int32 {
	if h.of[i].n == 0 {
		return -1
	}
	return h.of[i].at[0].cause
}

// listMembers lists the nodes of each cause.
func (h *shares) listMembers(overlap bool, c *causes) {
	m := &h.members
	n := len(h.fall)
	m.off = resize(m.off, n+2)
	clear(m.off)
	counted := func(i int) []part {
		if !overlap {
			return h.of[i].at[:min(1, h.of[i].n)]
		}
		return h.of[i].list()
	}
	for i := range h.of {
		for _, p := range counted(i) {
			m.off[p.cause+2]++
		}
	}
	for a := range n {
		m.off[a+2] += m.off[a+1]
	}
	m.at = resize(m.at, int(m.off[n+1]))
	for i := range h.of {
		for _, p := range counted(i) {
			m.at[m.off[p.cause+1]] = int32(i)
			m.off[p.cause+1]++
		}
	}
	m.off = m.off[:n+1]
}
