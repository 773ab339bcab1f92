package spines

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/segment/trees/layers"
)

// podID is an index of spines.pods; 0 on two levels.
type podID int32

// pod is a part of a fabric of more than two levels that has two: leaves and the switches to which they lead up, its spines.
type pod struct {
	leaves, spines []index.Device // by name
}

// findPods finds the pods of a fabric: leaves and switches of the second level that links connect.
func (f *Divider) findPods(w *backpressure.Graph) {
	seen := index.By[index.Device, bool](make([]bool, len(w.Level)))
	byName := func(a, b index.Device) int { return cmp.Compare(w.ByName[a], w.ByName[b]) }
	for _, first := range f.leaves {
		if seen[first] {
			continue
		}
		seen[first] = true
		p, queue := pod{}, []index.Device{first}
		for ; len(queue) > 0; queue = queue[1:] {
			d := queue[0]
			if w.IsLeaf(d) {
				p.leaves = append(p.leaves, d)
			} else {
				p.spines = append(p.spines, d)
			}
			for _, l := range w.Out.Of(d) {
				to := w.To[l]
				if isNext := w.IsLeaf(to) && w.IsDown(l) || w.IsLeaf(d) && w.IsUp(l) && w.Level[to] == 2; isNext && !seen[to] {
					seen[to], queue = true, append(queue, to)
				}
			}
		}
		if len(p.spines) < layers.FewestOfWays {
			continue
		}
		slices.SortFunc(p.leaves, byName)
		slices.SortFunc(p.spines, byName)
		for k, d := range p.spines {
			f.place[d] = int32(k)
		}
		f.pods = append(f.pods, p)
	}
}

// DividePods divides the links of the leaves of each pod among the regions that end there, and above it.
func (f *Divider) DividePods(m *Snapshot) {
	if len(f.pods) == 0 || m.Regions.Len() < 2 {
		return
	}
	if !f.takesAllSpines(m) {
		return
	}
	f.least = leastAdded * m.MinMean
	f.division.reset(m, f)
	f.division.met.list(m)
	f.division.ends = scratch.Zeroed(f.division.ends, m.Regions.Len())
	f.division.had = scratch.Zeroed(f.division.had, len(m.Links))
	for p := range f.pods.Len() {
		f.dividePod(m, p)
	}
	if len(f.division.kept) == 0 {
		return
	}
	slices.SortFunc(f.division.kept, func(a, b podEnds) int { return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.pod, b.pod)) })
	f.division.rewrite(m)
}

// enter makes a pod the one to be divided.
func (f *Divider) enter(p podID) {
	f.pod, f.leaves, f.number = p, f.pods[p].leaves, len(f.pods[p].spines)
	f.up, f.weight, f.leadsToAll = f.up[:f.number], f.weight[:f.number], f.leadsToAll[:f.number]
}

// takesAllSpines reports whether traffic takes all spines: see partialShare.
func (f *Divider) takesAllSpines(m *Snapshot) bool {
	wide, partial := 0, 0
	for p := range f.pods.Len() {
		f.enter(p)
		for _, d := range f.leaves {
			isWide, isPartial := f.readUp(m, d)
			if isWide {
				wide++
			}
			if isPartial {
				partial++
			}
		}
	}
	return float64(partial) <= partialShare*float64(wide)
}

// dividePod divides the links of the leaves of a pod. It leaves them as they are if an end explains no leaf: where the stall of
// an uplink is that of the worse of two trees, nothing shows the other.
func (f *Divider) dividePod(m *Snapshot, p podID) {
	f.enter(p)
	v := &f.division
	if f.findPodEnds(m); len(f.ends) > 1 && len(f.ends) <= mostEnds {
		v.readHad(m, f.leaves)
		if f.findSenders(m); len(f.senders) > 0 {
			begin := len(v.decided)
			if f.findFalls(); f.used().size() == len(f.ends) {
				v.decide(m, f)
			}
			if len(v.decided) > begin {
				v.keepPod(p, begin)
			}
		}
	}
	for _, g := range v.met.ends {
		v.ends[g] = 0
	}
}

// used is the set of ends that explain a leaf.
func (f *Divider) used() (set endSet) {
	for k := range f.senders {
		set |= f.setOf(&f.senders[k])
	}
	return set
}

// readHad reads the ends of the regions of what leaves the leaves of a pod, and of their hosts.
func (v *division) readHad(m *Snapshot, leaves []index.Device) {
	for _, d := range leaves {
		for _, nodes := range [2][]index.Node{m.Into.Of(d), m.Leaving.Of(d)} {
			for _, i := range nodes {
				for _, k := range v.met.of.Of(i) {
					if ends := v.ends[v.met.region[k]]; ends != 0 {
						v.had[i] |= ends
					} else {
						v.had[i] |= elsewhere
					}
				}
			}
		}
	}
}

// endsHere reports whether nearly all uplinks of a leaf are only in regions with an end in the pod, or on two levels.
func (v *division) endsHere(m *Snapshot, leaf index.Device) bool {
	n, others := 0., 0.
	for _, i := range m.Leaving.Of(leaf) {
		if m.Graph.IsUp(m.Links[i]) {
			if n++; v.had[i].meets(elsewhere) {
				others++
			}
		}
	}
	return others <= (1-layers.MostWays)*n
}

// keepPod keeps where the regions end in a pod in which the nodes from some place on were decided. Those that do not end there
// keep their links.
func (v *division) keepPod(p podID, begin int) {
	for g, ends := range v.ends {
		if ends == 0 {
			ends = elsewhere
		}
		v.kept = append(v.kept, podEnds{region: regionID(g), pod: p, ends: ends, begin: begin, end: len(v.decided)})
	}
}
