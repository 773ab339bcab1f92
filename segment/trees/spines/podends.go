package spines

import (
	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/segment/trees/layers"
)

// Indices, see package index.
type (
	regionID int32 // a group of links, by its place
	memberID int32 // a link of a region
)

const severalExchanges = mostEnds // at a leaf, in place of its exchange

// regionsMet are the regions of each node, and those that are met at one switch.
type regionsMet struct {
	nodes  []index.Node
	region index.By[memberID, regionID]
	of     index.Lists[index.Node, memberID]
	count  index.By[regionID, int32] // of nodes at one switch
	here   []regionID                // with a count
	spines index.By[regionID, int32] // spines of a pod from which it leads up
	above  []regionID                // with spines
	ends   []regionID                // with an end in the pod
}

// list lists the regions of each node.
func (r *regionsMet) list(m *Snapshot) {
	r.nodes, r.region = r.nodes[:0], r.region[:0]
	for g := range regionID(m.Regions.Len()) {
		for _, l := range m.Regions.Group(int(g)) {
			if i := m.Node[index.Link(l)]; i >= 0 {
				r.nodes, r.region = append(r.nodes, i), append(r.region, g)
			}
		}
	}
	r.of.List(r.nodes, len(m.Links))
	r.count, r.spines = scratch.Zeroed(r.count, m.Regions.Len()), scratch.Zeroed(r.spines, m.Regions.Len())
	r.here, r.ends = r.here[:0], r.ends[:0]
}

// meet counts the nodes of each region among those of a kind.
func (r *regionsMet) meet(m *Snapshot, nodes []index.Node, kind backpressure.LinkKind) {
	for _, g := range r.here {
		r.count[g] = 0
	}
	r.here = r.here[:0]
	for _, i := range nodes {
		if m.Graph.Kinds[m.Links[i]]&kind == 0 {
			continue
		}
		for _, k := range r.of.Of(i) {
			g := r.region[k]
			if r.count[g]++; r.count[g] == 1 {
				r.here = append(r.here, g)
			}
		}
	}
}

// findPodEnds finds the ends of a pod: a leaf with a root, an exchange, and what is above the spines, as one end. They are at most
// mostEnds, else more are listed.
func (f *Divider) findPodEnds(m *Snapshot) {
	f.ends, f.division.met.ends = f.ends[:0], f.division.met.ends[:0]
	for s := range f.leadsToAll {
		f.leadsToAll[s] = true
	}
	for _, d := range f.leaves {
		f.endAt[d], f.exchangeAt[d] = -1, -1
	}
	for _, d := range f.leaves {
		if f.addEndsAt(m, d); len(f.ends) > mostEnds {
			return
		}
	}
	if len(f.ends) == 0 {
		return
	}
	for e := range f.ends {
		if f.ends[e].isExchange {
			f.levelExchange(m, e)
		}
	}
	f.addAbove(m)
}

// addEndsAt adds the ends at a leaf.
func (f *Divider) addEndsAt(m *Snapshot, d index.Device) {
	v := &f.division
	v.met.meet(m, m.Into.Of(d), backpressure.Downward)
	if len(v.met.here) == 0 {
		return
	}
	least := max(layers.FewestOfWays, endShare*float64(m.Measured(m.Graph.In.Of(d), backpressure.Downward)))
	for _, g := range v.met.here {
		switch root := m.Regions.Roots[g].Device; {
		case float64(v.met.count[g]) < least:
		case root == d && f.endAt[d] >= 0: // at another port
			f.endsAt(g, int(f.endAt[d]))
		case root == d:
			if e := f.addEnd(treeEnd{device: d}); e < mostEnds {
				f.endsAt(g, e)
				f.endAt[d] = int8(e)
				f.levelEnd(m, e)
			}
		case root == backpressure.NoDevice && v.ends[g] != 0:
			f.join(d, v.ends[g].first())
		case root == backpressure.NoDevice:
			if e := f.addEnd(treeEnd{device: backpressure.NoDevice, isExchange: true}); e < mostEnds {
				f.endsAt(g, e)
				f.join(d, e)
			}
		}
	}
}

// join notes that a leaf takes part in an exchange; if in two, it is not divided.
func (f *Divider) join(d index.Device, exchange int) {
	if f.exchangeAt[d] >= 0 {
		exchange = severalExchanges
	}
	f.exchangeAt[d] = int8(exchange)
}

// addEnd adds an end of regions and returns its index.
func (f *Divider) addEnd(x treeEnd) int {
	x.hasRegion = true
	f.ends = append(f.ends, x)
	return len(f.ends) - 1
}

// endsAt notes at which end a region ends.
func (f *Divider) endsAt(g regionID, end int) {
	f.division.ends[g] = setOf(end)
	f.division.met.ends = append(f.division.met.ends, g)
}

// levelEnd reads the links down to a leaf.
func (f *Divider) levelEnd(m *Snapshot, end int) {
	x := &f.ends[end]
	f.sample = f.sample[:0]
	for _, i := range m.Into.Of(x.device) {
		if !m.FromHost(i) {
			f.sample = append(f.sample, m.Stall[i])
		}
	}
	x.level = median.Of(f.sample)
	f.readDown(m, end)
}

// levelExchange finds the level of an exchange: the median of the links down to its leaves, since all that its uplinks wait for
// is level.
func (f *Divider) levelExchange(m *Snapshot, end int) {
	x := &f.ends[end]
	f.sample = f.sample[:0]
	for _, d := range f.leaves {
		if f.exchangeAt[d] != int8(end) {
			continue
		}
		for _, i := range m.Into.Of(d) {
			if !m.FromHost(i) {
				f.sample = append(f.sample, m.Stall[i])
			}
		}
	}
	x.level = median.Of(f.sample)
	for s := range f.downTo(end) {
		f.downTo(end)[s] = x.level
	}
}

// addAbove adds what is above the spines as an end: links up from half of them are in a region that does not end at a leaf of the
// pod.
func (f *Divider) addAbove(m *Snapshot) {
	met := &f.division.met
	met.above = met.above[:0]
	for _, d := range f.pods[f.pod].spines {
		met.meet(m, m.Leaving.Of(d), backpressure.Upward)
		for _, g := range met.here {
			if met.spines[g]++; met.spines[g] == 1 {
				met.above = append(met.above, g)
			}
		}
	}
	end := -1
	for _, g := range met.above {
		if f.division.ends[g] == 0 && float64(met.spines[g]) >= endShare*float64(f.number) {
			if end < 0 {
				end = f.addEnd(treeEnd{device: backpressure.NoDevice})
			}
			f.endsAt(g, end)
		}
		met.spines[g] = 0
	}
	if end >= 0 && end < mostEnds {
		f.readUpwards(m, end)
	}
}

// readUpwards reads the links up from the spines.
func (f *Divider) readUpwards(m *Snapshot, end int) {
	row := f.downTo(end)
	f.sample = f.sample[:0]
	for s, d := range f.pods[f.pod].spines {
		sum, n := 0., 0.
		for _, l := range m.Graph.Out.Of(d) {
			if m.Graph.IsUp(l) && m.Values[l] > 0 {
				sum, n = sum+float64(m.Values[l]), n+1
			}
		}
		row[s] = sum / max(1, n)
		f.leadsToAll[s] = f.leadsToAll[s] && row[s] > 0
		f.sample = append(f.sample, row[s])
	}
	f.ends[end].level = median.Of(f.sample)
}
