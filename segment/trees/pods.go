package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// pod is a part of a fabric of more than two levels that has two: leaves and the switches to which they lead up, its spines.
type pod struct {
	leaves, spines []deviceID // by name
}

// findPods finds the pods of a fabric: leaves and switches of the second level that links connect.
func (f *spines) findPods(w *waits) {
	seen := by[deviceID, bool](make([]bool, len(w.level)))
	byName := func(a, b deviceID) int { return cmp.Compare(w.byName[a], w.byName[b]) }
	for _, first := range f.leaves {
		if seen[first] {
			continue
		}
		seen[first] = true
		p, queue := pod{}, []deviceID{first}
		for ; len(queue) > 0; queue = queue[1:] {
			d := queue[0]
			if w.isLeaf(d) {
				p.leaves = append(p.leaves, d)
			} else {
				p.spines = append(p.spines, d)
			}
			for _, l := range w.out.of(d) {
				to := w.to[l]
				if isNext := w.isLeaf(to) && w.isDown(l) || w.isLeaf(d) && w.isUp(l) && w.level[to] == 2; isNext && !seen[to] {
					seen[to], queue = true, append(queue, to)
				}
			}
		}
		if len(p.spines) < fewestOfWays {
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

// dividePods divides the links of the leaves of each pod among the regions that end there, and above it.
func (f *spines) dividePods(m *Method, out *linkset.Groups) {
	if len(f.pods) == 0 || out.Len() < 2 {
		return
	}
	if !f.takesAllSpines(m) {
		return
	}
	f.least = leastAdded * m.minMean
	f.division.reset(m, f)
	f.division.met.list(m, out)
	f.division.ends = scratch.Zeroed(f.division.ends, out.Len())
	f.division.had = scratch.Zeroed(f.division.had, len(m.links))
	for p := range f.pods.len() {
		f.dividePod(m, p)
	}
	if len(f.division.kept) == 0 {
		return
	}
	slices.SortFunc(f.division.kept, func(a, b podEnds) int { return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.pod, b.pod)) })
	f.division.rewrite(m, out)
}

// enter makes a pod the one to be divided.
func (f *spines) enter(p podID) {
	f.pod, f.leaves, f.number = p, f.pods[p].leaves, len(f.pods[p].spines)
	f.up, f.weight, f.leadsToAll = f.up[:f.number], f.weight[:f.number], f.leadsToAll[:f.number]
}

// takesAllSpines reports whether traffic takes all spines: see partialShare.
func (f *spines) takesAllSpines(m *Method) bool {
	wide, partial := 0, 0
	for p := range f.pods.len() {
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
func (f *spines) dividePod(m *Method, p podID) {
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
func (f *spines) used() (set endSet) {
	for k := range f.senders {
		set |= f.setOf(&f.senders[k])
	}
	return set
}

// readHad reads the ends of the regions of what leaves the leaves of a pod, and of their hosts.
func (v *division) readHad(m *Method, leaves []deviceID) {
	for _, d := range leaves {
		for _, nodes := range [2][]nodeID{m.into.of(d), m.leaving.of(d)} {
			for _, i := range nodes {
				for _, k := range v.met.of.of(i) {
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
func (v *division) endsHere(m *Method, leaf deviceID) bool {
	n, others := 0., 0.
	for _, i := range m.leaving.of(leaf) {
		if m.waits.isUp(m.links[i]) {
			if n++; v.had[i].meets(elsewhere) {
				others++
			}
		}
	}
	return others <= (1-mostWays)*n
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
