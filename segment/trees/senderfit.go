package trees

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// senderMixture is a mixture model of what leaves send into, fitted by expectation and maximization (EM): each leaf sends
// into one tree or two. A tree has a fall, by which the uplinks of its leaves stall less than what they wait for, a share
// of the leaves, and a chance that hosts of such a leaf wait. Often the level of a leaf could be due to either of two
// trees, of which one falls more; whether its hosts wait then tells which it is.
type senderMixture struct {
	leaves []senderLeaf
	some   []senderLeaf // of them: see fit
	trees  []senderTree
	scale  float64 // by how much leaves that send into the same differ: that of Laplace's distribution of logarithms
	falls  []leafFall
	start  []senderTree
	best   []senderTree
}

// senderTree is a tree that leaves may send into.
type senderTree struct {
	cause      int32
	fall       float64 // logarithm of the ratio
	share      float64 // leaves that send into it, and one more, so that it remains possible
	hosts      float64 // chance that hosts of such a leaf wait
	seenHosts  float64 // leaves with hosts that certainly wait for it: its root's, or none
	begin, end int32   // of its leaves in falls
	ratio      float64 // exp(fall)
	prior      float64 // share of all trees' shares
}

// leafFall is the fall that a leaf shows if it sends into one tree alone.
type leafFall struct {
	fall       float64 // logarithm
	leaf, slot int32   // the tree's place at the leaf
}

const (
	// The scale counts as if it was seen to be usualScale at scaleLeaves leaves: few leaves do not show it.
	usualScale, scaleLeaves = .1, 2
	// EM ends after so many rounds, if not before: more change hardly any region.
	mostRounds = 15
	// EM finds a local maximum, so up to so many trees are also started, one at a time, from some quantiles of the falls
	// that their leaves may show: with more trees, leaves that show one fall are too few, and the cost grows.
	mostStarted = 4
	// Starts are compared on about so many leaves at most, which bounds the cost on large fabrics.
	mostLeaves = 64
	// The difference in likelihood, as a logarithm, up to which two fits are the same.
	likelier = 1e-6
	// Scales by which a level may be off its prediction: beyond about 700, all sets of a leaf's trees would have no chance.
	farOff = 500
)

var startQuantiles = [...]float64{.1, .3, .5, .7, .9}

// hostChance is the chance that hosts of a leaf wait, after so many leaves of which some do and so many of which none does
// (Jeffreys' prior).
func hostChance(some, none float64) float64 { return (some + .5) / (some + none + 1) }

// fit fits the trees to the leaves, or in a large fabric first to some of them.
func (x *senderMixture) fit() {
	all := x.leaves
	if len(all) > mostLeaves {
		x.leaves = x.everyNth((len(all)-1)/mostLeaves + 1)
	}
	x.listFalls()
	x.fitFromStarts()
	if len(x.leaves) < len(all) {
		x.leaves = all
		x.listFalls()
		x.climb()
	}
	x.expect()
}

// everyNth is every n-th leaf, with all its parts: see splitCertain.
func (x *senderMixture) everyNth(n int) []senderLeaf {
	x.some = x.some[:0]
	at := 0
	for k := range x.leaves {
		if k > 0 && x.leaves[k].device != x.leaves[k-1].device {
			at++
		}
		if at%n == 0 {
			x.some = append(x.some, x.leaves[k])
		}
	}
	return x.some
}

// fitFromStarts fits the trees, from where they are and from other falls of each, and keeps the likeliest.
func (x *senderMixture) fitFromStarts() {
	x.start = append(x.start[:0], x.trees...)
	x.best = scratch.Slice(x.best, len(x.trees))
	most, scale := math.Inf(-1), 0.
	climb := func() {
		if l := x.climb(); l > most+likelier {
			most, scale = l, x.scale
			copy(x.best, x.trees)
		}
	}
	climb()
	if len(x.trees) <= mostStarted {
		for k := range x.trees {
			z := &x.trees[k]
			if z.begin == z.end {
				continue // none of some leaves
			}
			for _, q := range startQuantiles {
				copy(x.trees, x.best)
				*z = x.start[k]
				z.fall = x.quantile(z, q)
				climb()
			}
		}
	}
	copy(x.trees, x.best)
	x.scale = scale
}

// listFalls lists, by tree, the falls that its leaves would show, in ascending order.
func (x *senderMixture) listFalls() {
	x.falls = x.falls[:0]
	for k := range x.trees {
		z := &x.trees[k]
		z.begin = int32(len(x.falls))
		for i := range x.leaves {
			leaf := &x.leaves[i]
			if slot := slices.Index(leaf.tree[:leaf.n], int32(k)); slot >= 0 {
				x.falls = append(x.falls, leafFall{math.Log(leaf.level / leaf.stall[slot]), int32(i), int32(slot)})
			}
		}
		z.end = int32(len(x.falls))
		slices.SortFunc(x.falls[z.begin:], func(a, b leafFall) int { return cmp.Or(cmp.Compare(a.fall, b.fall), cmp.Compare(a.leaf, b.leaf)) })
	}
}

// quantile is a quantile of the falls that the leaves of a tree may show.
func (x *senderMixture) quantile(z *senderTree, q float64) float64 {
	falls := x.falls[z.begin:z.end]
	return min(math.Log(mostFall), falls[max(0, int(math.Ceil(q*float64(len(falls))))-1)].fall)
}

// climb fits the trees from where they are, and returns the logarithm of the likelihood.
func (x *senderMixture) climb() float64 {
	x.scale = 2 * usualScale
	likelihood := x.expect()
	for range mostRounds {
		x.maximize()
		last := likelihood
		if likelihood = x.expect(); math.Abs(likelihood-last) < likelier {
			break
		}
	}
	return likelihood
}

// expect finds the chances of all sets of trees of each leaf, and returns the logarithm of the likelihood.
func (x *senderMixture) expect() (likelihood float64) {
	total := 0.
	for k := range x.trees {
		total += x.trees[k].share
	}
	for k := range x.trees {
		z := &x.trees[k]
		z.ratio, z.prior = math.Exp(z.fall), z.share/total
	}
	likelihood = -scaleLeaves * (math.Log(x.scale) + usualScale/x.scale)
	second := chanceOf(secondCost)
	for i := range x.leaves {
		leaf, sum := &x.leaves[i], 0.
		for set := uint(1); set < 1<<leaf.n; set++ {
			if bits.OnesCount(set) <= mostAtOnce {
				leaf.chance[set] = x.likelihood(leaf, set, second)
				sum += leaf.chance[set]
			}
		}
		likelihood += math.Log(sum)
		leaf.normalize(sum)
	}
	return likelihood
}

// likelihood is that of a leaf's level and hosts, if it sends into a set of trees; second is the chance of a second one.
func (x *senderMixture) likelihood(leaf *senderLeaf, set uint, second float64) float64 {
	predicted, prior, none := 0., 1/second, 1.
	for rest := set; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros(rest)
		z := &x.trees[leaf.tree[slot]]
		predicted += leaf.stall[slot] * z.ratio
		prior, none = prior*second*z.prior, none*(1-z.hosts)
	}
	switch leaf.hosts {
	case noHosts:
		prior *= none
	case someHosts:
		prior *= 1 - none
	}
	scale := x.scale + leaf.error
	off := math.Abs(math.Log(leaf.level / min(100, predicted)))
	return prior * math.Exp(-min(farOff, off/scale)) / (2 * scale)
}

// normalize makes the chances of a leaf's sets of trees sum to 1, and sums those of each tree.
func (x *senderLeaf) normalize(sum float64) {
	x.sendsInto = [maxParts]float64{}
	for set := uint(1); set < 1<<x.n; set++ {
		x.chance[set] /= sum
		for rest := set; rest != 0; rest &= rest - 1 {
			x.sendsInto[bits.TrailingZeros(rest)] += x.chance[set]
		}
	}
}

// maximize fits each tree to the leaves: its share by the chance that they send into it, its fall, by the weighted median,
// and its hosts by the chance that they send into nothing else.
func (x *senderMixture) maximize() {
	off, all := usualScale*scaleLeaves, float64(scaleLeaves)
	for k := range x.trees {
		z := &x.trees[k]
		falls := x.falls[z.begin:z.end]
		share, weight, some, none := 1., 0., z.seenHosts, 0.
		for _, f := range falls {
			leaf, alone := &x.leaves[f.leaf], x.chanceAlone(f)
			share, weight = share+leaf.sendsInto[f.slot], weight+alone
			switch leaf.hosts {
			case noHosts:
				none += alone
			case someHosts:
				some += alone
			}
		}
		z.share, z.hosts = share, hostChance(some, none)
		if weight > 0 {
			z.fall = min(math.Log(mostFall), x.median(falls, weight))
		}
		for _, f := range falls {
			off += x.chanceAlone(f) * math.Abs(f.fall-z.fall)
		}
		all += weight
	}
	x.scale = off / all
}

// chanceAlone is the chance that a leaf sends into one tree alone.
func (x *senderMixture) chanceAlone(f leafFall) float64 { return x.leaves[f.leaf].chance[1<<f.slot] }

// median is that of falls in ascending order, each weighted by the chance that the leaf shows it; the weights sum to total.
func (x *senderMixture) median(falls []leafFall, total float64) float64 {
	sum := 0.
	for _, f := range falls {
		if sum += x.chanceAlone(f); 2*sum >= total {
			return f.fall
		}
	}
	return falls[len(falls)-1].fall
}
