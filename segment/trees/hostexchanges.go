package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// hostExchanges are exchanges known by their hosts: nearly all hosts of a leaf wait, and neither one of them receives nor do
// its uplinks stall as much. So most of them wait for ports that are full but do not stall, of which no sink tells. Beside
// trees, the hosts then go to the trees' regions. Such hosts are taken off the readings, and trees are searched in the rest.
type hostExchanges struct {
	leaves  []hostLeaf
	all     index.By[exchangeID, hostExchange]
	of      index.By[index.Device, exchangeID] // a leaf's exchange, or noExchange
	counts  index.By[exchangeID, int]          // hosts of one region
	others  []hostLeaf                         // leaves with hosts of one region of which few wait
	waiting index.By[index.Device, float64]    // share of its hosts that wait
	rest    index.Readings
	links   []exchangeLink // hosts' links, by exchange
}

// exchangeLink is the link of a host of an exchange.
type exchangeLink struct {
	exchange exchangeID
	link     index.Link
}

// hostLeaf is a leaf with stalled hosts.
type hostLeaf struct {
	device                       index.Device
	below                        backpressure.Above
	hosts, mean, spread, squares float64 // of the stalled hosts: number, percent; the sums until finish
}

// add adds a stalled host.
func (x *hostLeaf) add(stall float64) {
	x.hosts, x.mean, x.squares = x.hosts+1, x.mean+stall, x.squares+stall*stall
}

// finish makes the mean and the spread of the sums.
func (x *hostLeaf) finish() {
	x.mean /= x.hosts
	x.spread = math.Sqrt(max(0, x.squares/x.hosts-x.mean*x.mean))
}

// hostExchange is a set of such leaves at one level below the same switches.
type hostExchange struct {
	leaves, hosts int     // number
	mean, spread  float64 // of the leaves
	most          int     // of its hosts in one region
	hasOthers     bool    // that region has other sources
	isTaken       bool    // its hosts are divided among regions, or joined with other sources
}

const (
	noExchange           = exchangeID(-1)
	fewestExchangeLeaves = 2
	// At a leaf of which less than that share of the hosts wait, they are a tree's sources. From fewSources of a region's
	// hosts on, these show that it is more than an exchange.
	wholeLeaf, fewSources = .65, .05
)

// find finds the exchanges whose hosts are divided among regions, or joined with other sources; it leaves the readings
// without these in rest, and reports whether there are any.
func (e *hostExchanges) find(m *Method) bool {
	e.listLeaves(m)
	if len(e.leaves) < fewestExchangeLeaves {
		return false
	}
	e.group(m)
	e.compare(m)
	isAny := false
	for k := range e.all {
		x := &e.all[k]
		x.isTaken = x.leaves >= fewestExchangeLeaves && (x.hasOthers || float64(x.most) < nearlyAll*float64(x.hosts))
		isAny = isAny || x.isTaken
	}
	if isAny {
		e.setIdle(m)
	}
	return isAny
}

// listLeaves lists the leaves nearly all of whose hosts wait, and not all for a receiver or for stalled uplinks.
func (e *hostExchanges) listLeaves(m *Method) {
	e.leaves, e.waiting = e.leaves[:0], scratch.Zeroed(e.waiting, len(m.Seen))
	for d := range m.Seen.Len() {
		if !m.Graph.IsLeaf(d) {
			continue
		}
		x, measured := hostLeaf{device: d, below: m.Graph.Below(d)}, 0.
		for _, l := range m.Graph.In.Of(d) {
			if !m.Graph.FromHost(l) || m.Values[l] == linkset.Missing {
				continue
			}
			measured++
			if i := m.Node[l]; i >= 0 {
				x.add(m.Stall[i])
			}
		}
		e.waiting[d] = x.hosts / max(1, measured)
		if x.hosts < backpressure.MinFeeders || x.hosts < nearlyAll*measured {
			continue
		}
		if x.finish(); !m.mayReceive(&x) && !waitUpwards(m, &x) {
			e.leaves = append(e.leaves, x)
		}
	}
}

// mayReceive reports whether all that waits at a leaf may wait for one of its hosts, which receives from the others: of all
// that leaves the leaf only the port to that host stalls, which does not wait to send; or nothing stalls, and some host does
// not wait.
func (m *Method) mayReceive(x *hostLeaf) bool {
	switch leaving := m.Leaving.Of(x.device); len(leaving) {
	case 0:
		return !m.restWaits(x.device)
	case 1:
		i := leaving[0]
		return m.ToHost(i) && !m.WaitsToSend(m.To[i]) && m.Stall[i] >= backpressure.AboutAsMuch*x.mean
	}
	return false
}

// waitUpwards reports whether the hosts of a leaf may all wait for its uplinks: half of these or more stall, and about as
// much as the hosts, or more.
func waitUpwards(m *Method, x *hostLeaf) bool {
	sum, stalled := 0., m.StalledUp(x.device)
	for _, i := range m.Leaving.Of(x.device) {
		if !m.ToHost(i) {
			sum += m.Stall[i]
		}
	}
	return 2*stalled >= m.MeasuredUp(x.device) && sum >= backpressure.AboutAsMuch*float64(stalled)*x.mean
}

// group makes exchanges of leaves below the same switches, in the order of their levels: a leaf belongs to the exchange
// before if it differs from that by no more than their hosts do.
func (e *hostExchanges) group(m *Method) {
	name := m.Graph.ByName
	slices.SortFunc(e.leaves, func(a, b hostLeaf) int {
		return cmp.Or(cmp.Compare(a.below, b.below), cmp.Compare(a.mean, b.mean), cmp.Compare(name[a.device], name[b.device]))
	})
	e.all, e.of = e.all[:0], scratch.Filled(e.of, len(m.Seen), noExchange)
	for k, x := range e.leaves {
		last := e.all.Len() - 1
		if k == 0 || e.leaves[k-1].below != x.below || x.mean-e.all[last].mean > pieceSpreads*math.Hypot(x.spread, e.all[last].spread) {
			e.all = append(e.all, hostExchange{})
			last++
		}
		y := &e.all[last]
		n := float64(y.leaves)
		y.mean, y.spread = (n*y.mean+x.mean)/(n+1), (n*y.spread+x.spread)/(n+1)
		y.leaves++
		y.hosts += int(x.hosts)
		e.of[x.device] = last
	}
}

// compare finds, for each exchange, the region with most of its hosts.
func (e *hostExchanges) compare(m *Method) {
	for g := range m.regions.Len() {
		e.counts = scratch.Zeroed(e.counts, len(e.all))
		e.others = e.others[:0]
		hosts := 0
		for _, id := range m.regions.Group(g) {
			l := index.Link(id)
			if !m.Graph.FromHost(l) {
				continue
			}
			hosts++
			leaf := m.Graph.To[l]
			if k := e.of[leaf]; k != noExchange {
				e.counts[k]++
			} else if e.waiting[leaf] < wholeLeaf {
				e.addOther(leaf, m.Stall[m.Node[l]])
			}
		}
		for k := range e.others {
			e.others[k].finish()
		}
		for k, n := range e.counts {
			x := &e.all[k]
			if n == 0 || n < x.most {
				continue
			}
			hasOthers := e.countOthers(x) >= fewSources*float64(hosts)
			x.hasOthers = hasOthers || n == x.most && x.hasOthers // of equal regions, in any order
			x.most = n
		}
	}
}

// addOther counts a link from a host to a leaf of which few hosts wait.
func (e *hostExchanges) addOther(leaf index.Device, stall float64) {
	k := slices.IndexFunc(e.others, func(x hostLeaf) bool { return x.device == leaf })
	if k < 0 {
		k = len(e.others)
		e.others = append(e.others, hostLeaf{device: leaf})
	}
	e.others[k].add(stall)
}

// countOthers counts the hosts at other leaves of which few wait, without those of one leaf at the exchange's level: an
// exchange may fill one more leaf in part.
func (e *hostExchanges) countOthers(x *hostExchange) float64 {
	all, level := 0., 0.
	for _, y := range e.others {
		all += y.hosts
		if math.Abs(x.mean-y.mean) <= pieceSpreads*math.Hypot(x.spread, y.spread) {
			level = max(level, y.hosts)
		}
	}
	return all - level
}

// setIdle makes the hosts of the exchanges idle.
func (e *hostExchanges) setIdle(m *Method) {
	e.rest, e.links = append(e.rest[:0], m.Values...), e.links[:0]
	for _, x := range e.leaves {
		k := e.of[x.device]
		if !e.all[k].isTaken {
			continue
		}
		for _, i := range m.Into.Of(x.device) {
			if m.FromHost(i) {
				e.rest[m.Links[i]] = float32(m.Noise.Mean)
				e.links = append(e.links, exchangeLink{k, m.Links[i]})
			}
		}
	}
}

// emit appends a group for each exchange.
func (e *hostExchanges) emit(out *backpressure.Regions) {
	slices.SortFunc(e.links, func(a, b exchangeLink) int {
		return cmp.Or(cmp.Compare(a.exchange, b.exchange), cmp.Compare(a.link, b.link))
	})
	for i, x := range e.links {
		out.Links = append(out.Links, schema.LinkID(x.link))
		if i+1 == len(e.links) || e.links[i+1].exchange != x.exchange {
			out.End(backpressure.NoRoot)
		}
	}
}
