package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// rails are the leaves that connect the same hosts, which have an adapter on each: no switch that such leaves share need
// be congested when their hosts exchange, or when one of them takes nothing.
type rails struct {
	host  by[deviceID, deviceID] // the first device, by name, that is an adapter of the same host; nil if no host has several links
	ports by[deviceID, int]      // by host: links that lead to it
	unit  by[deviceID, deviceID] // the first of the leaves that connect the same hosts
}

// newRails finds the rails of a fabric.
func newRails(g *topology.Graph) (r rails) {
	n, isAny := g.NumDevices(), false
	r.unit, r.ports = make([]deviceID, n), make([]int, n)
	for _, host := range topology.HostsOf(g) {
		r.host = append(r.host, deviceID(host))
	}
	var sets unionFind[deviceID]
	sets.Reset(n)
	for id := range g.NumLinks() {
		from, to := g.Ends(schema.LinkID(id))
		if !g.IsSwitch(from) {
			sets.Union(r.host[deviceID(from)], deviceID(to))
		}
		if !g.IsSwitch(to) {
			host := r.host[deviceID(to)]
			r.ports[host]++
			isAny = isAny || r.ports[host] > 1
		}
	}
	if !isAny {
		return rails{}
	}
	for d := range r.unit.len() {
		r.unit[d] = sets.Find(d)
	}
	return r
}

// commonHosts is the least share of the hosts that wait in the smaller of two regions of one exchange that also wait in the
// other. At half of them, two causes that share hosts are joined.
const commonHosts = .75

// railAdapter is an adapter that waits to send.
type railAdapter struct {
	set              patchID
	unit, host, leaf deviceID
}

// railRegion is a region without a receiver, nearly all of whose waiting adapters are on the rails of one unit.
type railRegion struct {
	set        patchID
	unit       deviceID
	begin, end int // in adapters
	isOneLeaf  bool
}

// joinRails joins regions that show no receiver if mostly the same hosts wait in them, on different rails, and one has
// several rails: these hosts exchange, and each rail shows a part of it.
func (p *patches) joinRails(m *Method) {
	if len(m.waits.rails.host) == 0 {
		return
	}
	p.listAdapters(m)
	p.listOnRails()
	for k, a := range p.onRails {
		for _, b := range p.onRails[:k] {
			if a.unit == b.unit && !(a.isOneLeaf && b.isOneLeaf) && p.haveSameHosts(a, b) {
				p.all[p.sets.Union(a.set, b.set)].root = noRoot
			}
		}
	}
}

// listAdapters lists the adapters that wait in regions without a receiver, by region, then by unit and host.
func (p *patches) listAdapters(m *Method) {
	w := m.waits
	p.hasReceiver = scratch.Zeroed(p.hasReceiver, len(p.all))
	for k := range p.all.len() {
		set := p.sets.Find(k)
		p.hasReceiver[set] = p.hasReceiver[set] || m.isReceiver(p.all[k].root)
	}
	p.adapters = p.adapters[:0]
	for k := range p.all.len() {
		x, set := &p.all[k], p.sets.Find(k)
		if p.hasReceiver[set] {
			continue
		}
		for _, i := range p.nodesOf(x) {
			if m.fromHost(i) {
				p.adapters = append(p.adapters, railAdapter{set, w.rails.unit[m.to[i]], w.rails.host[m.from[i]], m.to[i]})
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
		x, y := deviceID(-1), deviceID(-1)
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
