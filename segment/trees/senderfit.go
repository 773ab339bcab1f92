package trees

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// The trees of senders are a mixture, fitted by expectation and maximization: a leaf sends into one tree or two. Each tree
// has a fall, by which the uplinks of its leaves stall less than what they wait for, a share of the leaves, and a chance
// that hosts of its leaves wait. Levels alone often do not tell which of two trees falls more; hosts often do.

// senderTree is a tree of the mixture.
type senderTree struct {
	cause  int32
	fall   float64 // logarithm
	hosts  float64
	share  float64
	isSeen bool // hosts of the root's leaf wait, and for no uplink
}

type weighted struct{ x, weight float64 }

const (
	// The scale of the leaves' differences counts as if seen to be that at so many leaves.
	usualScale, scaleLeaves = .1, 2
	fitRounds               = 15
	// Up to so many trees, each is started also at some quantiles of the falls that its leaves would show.
	mostStarted = 4
)

var startQuantiles = [...]float64{.1, .3, .5, .7, .9}

// newTree is a tree as single links show it.
func (e *senders) newTree(t *trees, s *sinks, c *causes, h *shares, cause int32) senderTree {
	z := senderTree{cause: cause, fall: math.Log(h.fall[cause]), hosts: .5, share: 1}
	for a := range s.all {
		if x := &s.all[a]; c.sets.Find(int32(a)) == cause && x.isLeaf && t.stalledUp(x.device) == 0 && t.stalledHosts(x.device) > 0 {
			z.isSeen, z.hosts = true, hostChance(1, 0)
		}
	}
	return z
}

// hostChance is the chance that hosts of a leaf wait, after so many leaves of which some do and none does.
func hostChance(some, none float64) float64 { return (some + .5) / (some + none + 1) }

// stalledUp counts the stalled uplinks of a leaf.
func (t *trees) stalledUp(leaf int32) (n int) {
	for _, i := range t.leaving.of(leaf) {
		if !t.toHost(i) {
			n++
		}
	}
	return n
}

// fit fits the trees, from where they are and from other falls of each, and keeps the likeliest.
func (e *senders) fit() {
	e.start = append(e.start[:0], e.trees...)
	most := e.climb()
	e.best = append(e.best[:0], e.trees...)
	scale := e.scale
	for k := range e.trees {
		if len(e.trees) > mostStarted {
			break
		}
		for _, q := range startQuantiles {
			e.listRatios(k, func(*senderLeaf, int) float64 { return 1 })
			copy(e.trees, e.best)
			e.trees[k] = e.start[k]
			e.trees[k].fall = min(math.Log(mostFall), quantileOf(e.ratios, q))
			if l := e.climb(); l > most+1e-6 {
				most, scale = l, e.scale
				copy(e.best, e.trees)
			}
		}
	}
	copy(e.trees, e.best)
	e.scale = scale
	e.expect()
}

// climb fits the trees from where they are, and returns the logarithm of the likelihood.
func (e *senders) climb() float64 {
	e.scale = 2 * usualScale
	for range fitRounds {
		e.expect()
		e.maximize()
	}
	return e.expect()
}

// expect finds the chances of all sets of trees of each leaf, and the logarithm of the likelihood.
func (e *senders) expect() (likelihood float64) {
	total := 0.
	for k := range e.trees {
		total += e.trees[k].share
	}
	likelihood = -scaleLeaves * (math.Log(e.scale) + usualScale/e.scale)
	for m := range e.leaves {
		x, sum := &e.leaves[m], 0.
		for set := uint(1); set < 1<<x.n; set++ {
			x.chance[set] = 0
			if bits.OnesCount(set) <= mostAtOnce {
				x.chance[set] = e.likelihood(x, set, total)
				sum += x.chance[set]
			}
		}
		likelihood += math.Log(sum)
		for set := uint(1); set < 1<<x.n; set++ {
			x.chance[set] /= sum
		}
	}
	return likelihood
}

// likelihood is that of a leaf's level and hosts, if it sends into a set of trees.
func (e *senders) likelihood(x *senderLeaf, set uint, total float64) float64 {
	predicted, prior, none := 0., math.Exp(-math.Sqrt2*secondCost*float64(bits.OnesCount(set)-1)), 1.
	for k := range x.n {
		if set>>k&1 != 0 {
			z := &e.trees[x.tree[k]]
			predicted += x.stall[k] * math.Exp(z.fall)
			prior, none = prior*z.share/total, none*(1-z.hosts)
		}
	}
	switch x.hosts {
	case noHosts:
		prior *= none
	case someHosts:
		prior *= 1 - none
	}
	scale := e.scale + x.error
	return prior * math.Exp(-math.Abs(math.Log(x.level/min(100, predicted)))/scale) / (2 * scale)
}

// maximize fits the trees to the leaves, by the chance of each set.
func (e *senders) maximize() {
	off, all := usualScale*scaleLeaves, float64(scaleLeaves)
	for k := range e.trees {
		z := &e.trees[k]
		share, some, none := 1., 0., 0.
		if z.isSeen {
			some = 1
		}
		weight := e.listRatios(k, func(x *senderLeaf, j int) float64 {
			for set := uint(1); set < 1<<x.n; set++ {
				if set>>j&1 != 0 {
					share += x.chance[set]
				}
			}
			alone := x.chance[1<<j]
			switch x.hosts {
			case noHosts:
				none += alone
			case someHosts:
				some += alone
			}
			return alone
		})
		z.share, z.hosts = share, hostChance(some, none)
		if weight > 0 {
			z.fall = min(math.Log(mostFall), quantileOf(e.ratios, .5))
		}
		for _, r := range e.ratios {
			off += r.weight * math.Abs(r.x-z.fall)
		}
		all += weight
	}
	e.scale = off / all
}

// listRatios lists the logarithms of the fall of a tree at each leaf that may send into it, with weights, and returns the
// sum of these.
func (e *senders) listRatios(tree int, weightOf func(x *senderLeaf, j int) float64) (sum float64) {
	e.ratios = e.ratios[:0]
	for m := range e.leaves {
		x := &e.leaves[m]
		if j := slices.Index(x.tree[:x.n], int32(tree)); j >= 0 {
			w := weightOf(x, j)
			e.ratios = append(e.ratios, weighted{math.Log(x.level / x.stall[j]), w})
			sum += w
		}
	}
	return sum
}

// quantileOf is a quantile of values by weight.
func quantileOf(v []weighted, q float64) float64 {
	slices.SortFunc(v, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.weight, b.weight)) })
	total, sum := 0., 0.
	for _, r := range v {
		total += r.weight
	}
	for _, r := range v {
		if sum += r.weight; sum >= q*total {
			return r.x
		}
	}
	return v[len(v)-1].x
}
