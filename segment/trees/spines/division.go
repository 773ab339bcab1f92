package spines

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// division gives links to the regions of the ends that they wait for.
type division struct {
	ends    index.By[regionID, endSet]    // where each ends
	of      index.By[index.Node, endSet]  // the ends that a node waits for; 0 if not decided
	had     index.By[index.Node, endSet]  // the ends of the regions that it was in
	pod     index.By[index.Node, podID]   // in which it was decided
	decided []index.Node                  // nodes with of
	kept    []podEnds                     // of all pods
	inPod   index.By[podID, endSet]       // ends of one region
	count   index.By[index.Device, int32] // links down to a leaf in one region
	links   []schema.LinkID
	met     regionsMet
}

// podEnds is where a region ends in a pod, with the nodes decided there.
type podEnds struct {
	region     regionID
	pod        podID
	ends       endSet
	begin, end int // of decided
}

// elsewhere is the end of regions without an end in the pod that is divided.
const elsewhere endSet = 1 << 7

const (
	hostDoubt = .1 // relative error of the stall of a host by what it waits for
	hostCost  = .5 // of each end for which a host waits
	// A host stalls that many deviations more than all trees stall the uplinks of its leaf: it waits for its own leaf's.
	clearlyMore = 2
)

// listEnds lists the ends of each region, and of the regions of each node. A region ends where its root is, and at ends without a
// root to which it has half of the links down.
func (v *division) listEnds(m *Snapshot, f *Divider) {
	v.ends, v.had = scratch.Zeroed(v.ends, m.Regions.Len()), scratch.Zeroed(v.had, len(m.Links))
	v.reset(m, f)
	for g := range regionID(m.Regions.Len()) {
		for _, l := range m.Regions.Group(int(g)) {
			if m.Graph.IsDown(index.Link(l)) {
				v.count[m.Graph.To[index.Link(l)]]++
			}
		}
		for e := range f.ends {
			x := &f.ends[e]
			if m.Regions.Roots[g].Device == x.device || !f.isRoot[x.device] && 2*int(v.count[x.device]) >= x.stalled {
				v.ends[g] |= setOf(e)
				x.hasRegion = true
			}
		}
		for _, l := range m.Regions.Group(int(g)) {
			v.count[m.Graph.To[index.Link(l)]] = 0
			if i := m.Node[index.Link(l)]; i >= 0 {
				v.had[i] |= v.ends[g]
			}
		}
	}
}

// reset forgets what was decided, and marks the roots.
func (v *division) reset(m *Snapshot, f *Divider) {
	v.of, v.pod = scratch.Zeroed(v.of, len(m.Links)), scratch.Zeroed(v.pod, len(m.Links))
	v.decided, v.kept = v.decided[:0], v.kept[:0]
	v.inPod = scratch.Zeroed(v.inPod, max(1, len(f.pods)))
	clear(f.isRoot)
	for _, r := range m.Regions.Roots {
		if r.Device != backpressure.NoDevice {
			f.isRoot[r.Device] = true
		}
	}
}

// changed is the share of the stalled uplinks of a leaf that are not in the regions of a set of ends, or in others.
func (v *division) changed(m *Snapshot, leaf index.Device, set endSet) float64 {
	n, changed := 0., 0.
	for _, i := range m.Leaving.Of(leaf) {
		if !m.Graph.IsUp(m.Links[i]) {
			continue
		}
		if n++; v.had[i] != set {
			changed++
		}
	}
	return changed / max(1, n)
}

// decide decides which ends wait for which: uplinks, links down to these ends, and hosts.
func (v *division) decide(m *Snapshot, f *Divider) {
	used := endSet(0)
	for k := range f.senders {
		x := &f.senders[k]
		used |= f.setOf(x)
		for _, i := range m.Leaving.Of(x.device) {
			if s := f.place[m.To[i]]; s >= 0 && f.leadsToAll[s] {
				v.set(f.pod, i, f.setOf(x))
			}
		}
	}
	for e := range f.ends {
		if !used.has(e) || len(f.pods) > 0 {
			continue
		}
		for _, i := range m.Into.Of(f.ends[e].device) {
			if !m.FromHost(i) {
				v.set(f.pod, i, setOf(e))
			}
		}
	}
	f.findHostLevels(m)
	for k := range f.senders {
		v.decideHosts(m, f, &f.senders[k])
	}
}

// set decides which ends a node of a pod waits for.
func (v *division) set(pod podID, i index.Node, ends endSet) {
	v.of[i], v.pod[i] = ends, pod
	v.decided = append(v.decided, i)
}

// setOf is the set of ends that the uplinks of a leaf wait for.
func (f *Divider) setOf(x *sender) endSet { return f.options[x.chosen].set }

// findHostLevels finds, for each end, the median stall of the hosts that wait for it alone.
func (f *Divider) findHostLevels(m *Snapshot) {
	for e := range f.ends {
		f.sample = f.sample[:0]
		for k := range f.senders {
			x := &f.senders[k]
			if f.setOf(x) != setOf(e) || f.isRoot[x.device] || f.endAt[x.device] >= 0 {
				continue
			}
			for _, i := range m.Into.Of(x.device) {
				if m.FromHost(i) {
					f.sample = append(f.sample, m.Stall[i])
				}
			}
		}
		f.ends[e].hosts = 0
		if len(f.sample) >= backpressure.MinFeeders {
			f.ends[e].hosts = median.Of(f.sample)
		}
	}
}

// decideHosts decides for which ends the hosts of a leaf wait: those of its uplinks, and its own. It leaves them as they are
// where another tree begins at the leaf, into which nothing comes down.
func (v *division) decideHosts(m *Snapshot, f *Divider, x *sender) {
	own := endSet(0)
	if e := f.endAt[x.device]; e >= 0 {
		if len(f.pods) > 0 {
			return
		}
		own = setOf(int(e))
	} else if f.isRoot[x.device] {
		return
	}
	for _, i := range m.Into.Of(x.device) {
		if m.FromHost(i) {
			v.set(f.pod, i, f.hostSet(m.Noise, m.Stall[i], f.setOf(x), own))
		}
	}
}

// hostSet is the ends for which a host waits, of those of its leaf's uplinks and its leaf's own: those whose levels, combined as
// probabilities, are nearest to its stall. If a level is not known, it waits for all that the uplinks wait for.
func (f *Divider) hostSet(noise backpressure.Noise, stall float64, set, own endSet) endSet {
	if own == 0 && set.size() == 1 {
		return set
	}
	var levels [mostEnds]float64
	for e := range f.ends {
		switch x := &f.ends[e]; {
		case own.has(e):
			levels[e] = x.level
		case x.hosts > 0:
			levels[e] = x.hosts
		case set.has(e) && own != 0 && stall > f.upTo(set)+clearlyMore*noise.Sigma(stall):
			return own // a host stalls no more than what it waits for
		case set.has(e):
			return set
		}
	}
	best, least := set, math.Inf(1)
	for s := endSet(1); s <= set|own; s++ {
		if s&^(set|own) != 0 {
			continue
		}
		passes := 1.
		for rest := s; rest != 0; rest = rest.rest() {
			passes *= 1 - levels[rest.first()]/100
		}
		predicted := 100 * (1 - passes)
		off := (stall - predicted) / (noise.Sigma(predicted) + hostDoubt*predicted)
		if cost := off*off + hostCost*float64(s.size()); cost < least {
			best, least = s, cost
		}
	}
	return best
}

// upTo is the sum of what trees stall uplinks by.
func (f *Divider) upTo(set endSet) (sum float64) {
	for ; set != 0; set = set.rest() {
		x := &f.ends[set.first()]
		sum += x.falls[x.fall] * x.level
	}
	return sum
}

// keepEnds keeps where the regions end in a pod in which nodes were decided: on two levels, all.
func (v *division) keepEnds(pod podID) {
	for g, ends := range v.ends {
		v.kept = append(v.kept, podEnds{region: regionID(g), pod: pod, ends: ends, end: len(v.decided)})
	}
}

// rewrite gives the decided links to the regions of their ends. Of several regions at one leaf, a link stays in those in which
// it was. Regions that lose nearly all links are dropped.
func (v *division) rewrite(m *Snapshot) {
	out := m.Regions
	v.links = append(v.links[:0], out.Links...)
	out.Links = out.Links[:0]
	begin, groups, rest := int32(0), 0, v.kept
	for g, end := range out.Ends {
		kept := rest[:0]
		for len(rest) > 0 && rest[0].region == regionID(g) {
			v.inPod[rest[0].pod], kept, rest = rest[0].ends, kept[:len(kept)+1], rest[1:]
		}
		first, before := len(out.Links), int(end-begin)
		for _, l := range v.links[begin:end] {
			if i := m.Node[index.Link(l)]; i < 0 || v.of[i] == 0 || v.inPod[v.pod[i]].meets(v.of[i]|elsewhere) {
				out.Links = append(out.Links, l)
			}
		}
		begin = end
		for _, k := range kept {
			if v.inPod[k.pod] = 0; k.ends != elsewhere {
				v.add(m, k)
			}
		}
		if len(out.Links)-first < min(before, m.FewestLinks) {
			out.Links = out.Links[:first]
			continue
		}
		slices.Sort(out.Links[first:])
		out.Ends[groups], out.Roots[groups] = int32(len(out.Links)), out.Roots[g]
		groups++
	}
	out.Ends, out.Roots = out.Ends[:groups], out.Roots[:groups]
}

// add adds the links decided in a pod to a region that ends there.
func (v *division) add(m *Snapshot, k podEnds) {
	for _, i := range v.decided[k.begin:k.end] {
		if (v.of[i] &^ v.had[i]).meets(k.ends) {
			m.Regions.Links = append(m.Regions.Links, schema.LinkID(m.Links[i]))
		}
	}
}
