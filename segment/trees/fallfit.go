package trees

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// fallFit fits by how much causes fall at the ways up from leaves (on fat trees from other switches, too), all together. Where
// several lead over the same ways, most that waits there may wait for others, so that no cause shows its fall by itself. Those
// falls are sought with which the levels of all leaves are best explained, each by the sum of some of its causes. It is for
// traffic that is spread over all ways: else leaves differ too much to have levels.
type fallFit struct {
	leaves []fitLeaf
	causes []fitCause
	ratios []float64
	sample []float64
}

// fitLeaf is the ways up from a leaf.
type fitLeaf struct {
	first        int32 // node
	stall, error float64
	n            int
	causes       [mostInGroup]int32   // places in what is fitted
	base         [mostInGroup]float64 // what each stalls what the ways wait for
	chosen       uint
	least        float64 // what that costs
}

type fitCause struct {
	cause int32
	fall  float64
}

const (
	anotherCause = 1.5  // what each cause of a leaf but the first costs
	leastGain    = 2    // by which a change of a fall must explain the leaves better
	leavesDiffer = .02  // of what is predicted
	ratioWidth   = 1.03 // ratios that near are tried as one
	mostFitted   = 6    // causes: of more there is no telling
	mostLeafOff  = 28   // how far one leaf counts
	perMean      = 1.25 // the error of a median, by that of a mean
)

// isSpread reports whether most of the stalled links up are of switches of which traffic takes all ways up.
func (t *trees) isSpread() bool {
	all, most := 0, 0
	for i, l := range t.links {
		if t.waits.isUp(l) && !t.fromHost(int32(i)) {
			all++
			if t.breadth[i] == allWays {
				most++
			}
		}
	}
	return 2*most > all
}

// fitTogether fits the falls of a hop's causes; it reports whether there are several.
func (h *shares) fitTogether(t *trees, nodes []int32) bool {
	f := &h.fit
	h.gatherFitted(t, nodes)
	if len(f.causes) < 2 || len(f.causes) > mostFitted {
		return false
	}
	f.improve()
	for _, x := range f.causes {
		h.fall[x.cause] = x.fall
	}
	return true
}

// gatherFitted lists the leaves of a hop and the causes of what waits there.
func (h *shares) gatherFitted(t *trees, nodes []int32) {
	f := &h.fit
	f.leaves, f.causes = f.leaves[:0], f.causes[:0]
	for _, i := range nodes {
		if h.gatherGroup(t, i) {
			f.leaves = append(f.leaves, fitLeaf{first: i})
		}
	}
	name := t.waits.byName // the numbering of links must not show
	slices.SortFunc(f.leaves, func(a, b fitLeaf) int { return cmp.Compare(name[t.from[a.first]], name[t.from[b.first]]) })
	for k := range f.leaves {
		h.measureFitted(t, &f.leaves[k])
	}
}

// measureFitted finds the level of a leaf, and that of what it may wait for.
func (h *shares) measureFitted(t *trees, x *fitLeaf) {
	f, g := &h.fit, &h.group
	h.gatherGroup(t, x.first)
	f.sample = f.sample[:0]
	for _, i := range g.nodes {
		f.sample = append(f.sample, t.stall[i])
	}
	x.stall = medianOf(f.sample)
	x.error = max(t.noise.sigma(x.stall), deviationOf(f.sample, x.stall)) * perMean / math.Sqrt(float64(len(g.nodes)))
	x.n = g.n
	for k, cause := range g.causes[:g.n] {
		f.sample = f.sample[:0]
		for _, i := range g.nodes {
			for _, p := range h.of[i].list() {
				if p.cause == cause {
					f.sample = append(f.sample, p.stall)
				}
			}
		}
		x.base[k] = medianOf(f.sample)
		at := slices.IndexFunc(f.causes, func(x fitCause) bool { return x.cause == cause })
		if at < 0 {
			at = len(f.causes)
			f.causes = append(f.causes, fitCause{cause, min(1, h.fall[cause])})
		}
		x.causes[k] = int32(at)
	}
}

// improve changes the falls one by one, as long as that explains enough more.
func (f *fallFit) improve() {
	cost := f.total(-1)
	for isBetter := true; isBetter; {
		isBetter = false
		for k := range f.causes {
			f.listRatios(k)
			was := f.causes[k].fall
			best, least := was, cost-leastGain
			for _, r := range f.ratios {
				f.causes[k].fall = r
				if x := f.total(k); x < least {
					best, least = r, x
				}
			}
			f.causes[k].fall = best
			cost, isBetter = f.total(k), isBetter || best != was
		}
	}
}

// listRatios lists the falls of a cause that explain some leaf, alone or beside what was chosen for it.
func (f *fallFit) listRatios(k int) {
	f.sample = f.sample[:0]
	for j := range f.leaves {
		x := &f.leaves[j]
		p := x.placeOf(k)
		if p < 0 || x.base[p] <= 0 {
			continue
		}
		rest := f.predict(x, x.chosen&^(1<<p))
		for _, r := range [...]float64{x.stall / x.base[p], (x.stall - rest) / x.base[p]} {
			if r > 0 && r <= 1 {
				f.sample = append(f.sample, r)
			}
		}
	}
	slices.Sort(f.sample)
	f.ratios = f.ratios[:0]
	for a := 0; a < len(f.sample); {
		b := a
		for b < len(f.sample) && f.sample[b] <= ratioWidth*f.sample[a] {
			b++
		}
		f.ratios = append(f.ratios, medianOf(f.sample[a:b]))
		a = b
	}
}

// placeOf is the place of a cause among those of a leaf, or -1.
func (x *fitLeaf) placeOf(cause int) int { return slices.Index(x.causes[:x.n], int32(cause)) }

// predict is what a set of its causes stalls the ways up from a leaf.
func (f *fallFit) predict(x *fitLeaf, set uint) (sum float64) {
	for ; set != 0; set &= set - 1 {
		k := bits.TrailingZeros(set)
		sum += x.base[k] * f.causes[x.causes[k]].fall
	}
	return min(100, sum)
}

// total chooses the causes of all leaves, and returns what that costs; where only the fall of a cause has changed, of those that
// may wait for it.
func (f *fallFit) total(changed int) (sum float64) {
	for j := range f.leaves {
		if x := &f.leaves[j]; changed < 0 || x.placeOf(changed) >= 0 {
			x.least = math.Inf(1)
			for set := uint(1); set < 1<<x.n; set++ {
				if cost := f.costOf(x, set); cost < x.least {
					x.least, x.chosen = cost, set
				}
			}
		}
		sum += f.leaves[j].least
	}
	return sum
}

// costOf is how badly a set of its causes explains a leaf.
func (f *fallFit) costOf(x *fitLeaf, set uint) float64 {
	p := f.predict(x, set)
	off := (x.stall - p) / math.Hypot(x.error, leavesDiffer*p)
	return min(mostLeafOff, off*off/2) + anotherCause*float64(bits.OnesCount(set)-1)
}

// chooseFitted gives the ways up from leaves the causes that were chosen.
func (h *shares) chooseFitted(t *trees) {
	for k := range h.fit.leaves {
		x := &h.fit.leaves[k]
		h.gatherGroup(t, x.first)
		for _, i := range h.group.nodes {
			if set := h.within(i, x.chosen); set != 0 {
				h.chosen[i] = set
			}
		}
	}
}
