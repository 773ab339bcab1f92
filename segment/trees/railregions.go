package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// commonHosts is the least share of the hosts that wait in the smaller of two regions of one exchange that also wait in the
// other. At half of them, two causes that share hosts are joined.
const commonHosts = .75

// railAdapter is an adapter that waits to send.
type railAdapter struct {
	set              patchID
	unit, host, leaf index.Device
}

// railRegion is a region without a receiver, nearly all of whose waiting adapters are on the rails of one unit.
type railRegion struct {
	set        patchID
	unit       index.Device
	begin, end int // in adapters
	isOneLeaf  bool
}

// joinRails joins regions that show no receiver if mostly the same hosts wait in them, on different rails, and one has
// several rails: these hosts exchange, and each rail shows a part of it.
func (p *patches) joinRails(m *Method) {
	if len(m.Graph.Rails.Host) == 0 {
		return
	}
	p.listAdapters(m)
	p.listOnRails()
	for k, a := range p.onRails {
		for _, b := range p.onRails[:k] {
			if a.unit == b.unit && !(a.isOneLeaf && b.isOneLeaf) && p.haveSameHosts(a, b) {
				p.all[p.sets.Union(a.set, b.set)].root = backpressure.NoRoot
			}
		}
	}
}

// listAdapters lists the adapters that wait in regions without a receiver, by region, then by unit and host.
func (p *patches) listAdapters(m *Method) {
	w := m.Graph
	p.hasReceiver = scratch.Zeroed(p.hasReceiver, len(p.all))
	for k := range p.all.Len() {
		set := p.sets.Find(k)
		p.hasReceiver[set] = p.hasReceiver[set] || m.isReceiver(p.all[k].root)
	}
	p.adapters = p.adapters[:0]
	for k := range p.all.Len() {
		x, set := &p.all[k], p.sets.Find(k)
		if p.hasReceiver[set] {
			continue
		}
		for _, i := range p.nodesOf(x) {
			if m.FromHost(i) {
				p.adapters = append(p.adapters, railAdapter{set, w.Rails.Unit[m.To[i]], w.Rails.Host[m.From[i]], m.To[i]})
			}
		}
	}
	slices.SortFunc(p.adapters, func(a, b railAdapter) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.unit, b.unit), cmp.Compare(a.host, b.host), cmp.Compare(a.leaf, b.leaf))
	})
}

// listOnRails lists the regions of which nearly all waiting adapters are on the rails of one unit.
func (p *patches) listOnRails() {
	p.onRails = p.onRails[:0]
	for begin, end := 0, 0; begin < len(p.adapters); begin = end {
		for end = begin + 1; end < len(p.adapters) && p.adapters[end].set == p.adapters[begin].set; end++ {
		}
		for first, last := begin, begin; first < end; first = last {
			x, isOneLeaf := p.adapters[first], true
			for last = first; last < end && p.adapters[last].unit == x.unit; last++ {
				isOneLeaf = isOneLeaf && p.adapters[last].leaf == x.leaf
			}
			if float64(last-first) >= nearlyAll*float64(end-begin) {
				p.onRails = append(p.onRails, railRegion{x.set, x.unit, first, last, isOneLeaf})
			}
		}
	}
}

// haveSameHosts reports whether mostly the same hosts wait in two regions.
func (p *patches) haveSameHosts(a, b railRegion) bool {
	inA, inB, common := 0, 0, 0
	for i, j := a.begin, b.begin; i < a.end || j < b.end; {
		x, y := index.Device(-1), index.Device(-1)
		if i < a.end {
			x = p.adapters[i].host
		}
		if j < b.end {
			y = p.adapters[j].host
		}
		host := x
		if x < 0 || y >= 0 && y < x {
			host = y
		}
		if x == host {
			inA++
		}
		if y == host {
			inB++
		}
		if x == y {
			common++
		}
		for ; i < a.end && p.adapters[i].host == host; i++ {
		}
		for ; j < b.end && p.adapters[j].host == host; j++ {
		}
	}
	return float64(common) >= commonHosts*float64(min(inA, inB))
}
