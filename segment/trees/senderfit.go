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
	trees  by[treeID, senderTree]
	scale  float64 // by how much leaves that send into the same differ: that of Laplace's distribution of logarithms
	falls  []leafFall
	start  []senderTree
	best   []senderTree
	sets   senderSets
}

// senderSets are the sets of trees that the last leaf may send into. Where all uplinks of all leaves wait for the same
// trees, they are the same at all leaves.
type senderSets struct {
	n     int
	tree  [maxParts]treeID
	stall [maxParts]float64
	all   []senderSet
}

// senderSet is one tree or two of a leaf, as bits, and what they predict.
type senderSet struct {
	set   uint
	level float64                // logarithm of the predicted stall
	prior [someHosts + 1]float64 // by what is known of the leaf's hosts
}

// senderTree is a tree that leaves may send into.
type senderTree struct {
	cause      causeID
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
	// EM ends after so many rounds, or before if it has converged: with 32 leaves after eleven on average.
	mostRounds = 15
	// EM finds a local maximum, so up to so many trees are also started, one at a time, from some quantiles of the falls
	// that their leaves may show. The cost grows with the number of trees.
	mostStarted = 4
	// Starts are compared on about so many leaves at most, which bounds the cost on large fabrics.
	mostLeaves = 32
	// The difference in likelihood, as a logarithm, up to which two fits are the same.
	likelier = 1e-6
	// Scales by which a level may be off its prediction: beyond about 700, all sets of a leaf's trees would have no chance.
	maxScalesOff = 500
	// A product of likelihoods above it is not 0, times one more.
	leastProduct = 1e-60
)

var startQuantiles = [...]float64{.1, .3, .5, .7, .9}

// hostChance is the chance that hosts of a leaf wait, after so many leaves of which some do and so many of which none does
// (Jeffreys' prior).
func hostChance(some, none float64) float64 { return (some + .5) / (some + none + 1) }

// fit fits the trees to the leaves, or in a large fabric first to some of them.
func (mix *senderMixture) fit() {
	all := mix.leaves
	if len(all) > mostLeaves {
		mix.leaves = mix.everyNth((len(all)-1)/mostLeaves + 1)
	}
	mix.listFalls()
	mix.fitFromStarts()
	if len(mix.leaves) < len(all) {
		mix.leaves = all
		mix.listFalls()
		mix.climb(math.Inf(-1))
	}
	mix.expect()
}

// everyNth is every n-th leaf, with all its parts: see splitCertain.
func (mix *senderMixture) everyNth(n int) []senderLeaf {
	mix.some = mix.some[:0]
	at := 0
	for k := range mix.leaves {
		if k > 0 && mix.leaves[k].device != mix.leaves[k-1].device {
			at++
		}
		if at%n == 0 {
			mix.some = append(mix.some, mix.leaves[k])
		}
	}
	return mix.some
}

// fitFromStarts fits the trees, from where they are and from other falls of each, and keeps the likeliest.
func (mix *senderMixture) fitFromStarts() {
	mix.start = append(mix.start[:0], mix.trees...)
	mix.best = scratch.Slice(mix.best, len(mix.trees))
	most, scale := math.Inf(-1), 0.
	climb := func() {
		if l := mix.climb(most); l > most+likelier {
			most, scale = l, mix.scale
			copy(mix.best, mix.trees)
		}
	}
	climb()
	if len(mix.trees) <= mostStarted {
		for k := range mix.trees {
			tree := &mix.trees[k]
			if tree.begin == tree.end {
				continue // no leaf of some sends into it
			}
			for _, q := range startQuantiles {
				copy(mix.trees, mix.best)
				*tree = mix.start[k]
				tree.fall = mix.quantile(tree, q)
				climb()
			}
		}
	}
	copy(mix.trees, mix.best)
	mix.scale = scale
}

// listFalls lists, by tree, the falls that its leaves would show, in ascending order.
func (mix *senderMixture) listFalls() {
	mix.falls = mix.falls[:0]
	for k := range mix.trees.len() {
		tree := &mix.trees[k]
		tree.begin = int32(len(mix.falls))
		for i := range mix.leaves {
			leaf := &mix.leaves[i]
			if slot := slices.Index(leaf.tree[:leaf.n], k); slot >= 0 {
				mix.falls = append(mix.falls, leafFall{math.Log(leaf.level / leaf.stall[slot]), int32(i), int32(slot)})
			}
		}
		tree.end = int32(len(mix.falls))
		slices.SortFunc(mix.falls[tree.begin:], func(a, b leafFall) int { return cmp.Or(cmp.Compare(a.fall, b.fall), cmp.Compare(a.leaf, b.leaf)) })
	}
}

// quantile is a quantile of the falls that the leaves of a tree may show.
func (mix *senderMixture) quantile(tree *senderTree, q float64) float64 {
	falls := mix.falls[tree.begin:tree.end]
	return min(math.Log(mostFall), falls[max(0, int(math.Ceil(q*float64(len(falls))))-1)].fall)
}

// climb fits the trees from where they are, and returns the logarithm of the likelihood. It stops where the likelihood would
// not get to most even if it grew twice as fast as in the last round in all that remain: it usually grows ever more slowly.
func (mix *senderMixture) climb(most float64) float64 {
	mix.scale = 2 * usualScale
	likelihood := mix.expect()
	for left := mostRounds; left > 0; left-- {
		mix.maximize()
		last := likelihood
		likelihood = mix.expect()
		if gain := likelihood - last; math.Abs(gain) < likelier || gain > 0 && likelihood+2*float64(left-1)*gain < most {
			break
		}
	}
	return likelihood
}

// expect finds the chances of all sets of trees of each leaf, and returns the logarithm of the likelihood.
func (mix *senderMixture) expect() (likelihood float64) {
	total := 0.
	for k := range mix.trees {
		total += mix.trees[k].share
	}
	for k := range mix.trees {
		tree := &mix.trees[k]
		tree.ratio, tree.prior = math.Exp(tree.fall), tree.share/total
	}
	likelihood = -scaleLeaves * (math.Log(mix.scale) + usualScale/mix.scale)
	mix.sets.n = 0
	product := 1. // of the leaves' likelihoods: fewer logarithms
	for i := range mix.leaves {
		leaf, sum := &mix.leaves[i], 0.
		if !mix.sets.areOf(leaf) {
			mix.sets.predict(leaf, mix.trees)
		}
		perScale := 1 / (mix.scale + leaf.error)
		for k := range mix.sets.all {
			x := &mix.sets.all[k]
			off := math.Abs(leaf.logLevel-x.level) * perScale
			chance := x.prior[leaf.hosts] * math.Exp(-min(maxScalesOff, off)) * (perScale / 2)
			leaf.chance[x.set] = chance
			sum += chance
		}
		if product *= sum; product < leastProduct || product > 1/leastProduct {
			likelihood += math.Log(product)
			product = 1
		}
		leaf.normalize(1/sum, mix.sets.all)
	}
	return likelihood + math.Log(product)
}

// areOf reports whether a leaf's sets of trees predict the same.
func (sets *senderSets) areOf(leaf *senderLeaf) bool {
	return sets.n == leaf.n && sets.tree == leaf.tree && sets.stall == leaf.stall
}

// predict finds what a leaf's sets of trees predict.
func (sets *senderSets) predict(leaf *senderLeaf, trees []senderTree) {
	sets.n, sets.tree, sets.stall, sets.all = leaf.n, leaf.tree, leaf.stall, sets.all[:0]
	second := chanceOf(secondCost) // of a second tree
	for set := uint(1); set < 1<<leaf.n; set++ {
		if bits.OnesCount(set) > mostAtOnce {
			continue
		}
		predicted, prior, none := 0., 1/second, 1.
		for rest := set; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros(rest)
			tree := &trees[leaf.tree[slot]]
			predicted += leaf.stall[slot] * tree.ratio
			prior, none = prior*second*tree.prior, none*(1-tree.hosts)
		}
		sets.all = append(sets.all, senderSet{set, math.Log(min(100, predicted)), [...]float64{
			hostsUnknown: prior, noHosts: prior * none, someHosts: prior * (1 - none),
		}})
	}
}

// normalize makes the chances of a leaf's sets of trees sum to 1, and sums those of each tree; perSum is the
// reciprocal of their sum.
func (leaf *senderLeaf) normalize(perSum float64, sets []senderSet) {
	leaf.sendsInto = [maxParts]float64{}
	for k := range sets {
		set := sets[k].set
		leaf.chance[set] *= perSum
		for rest := set; rest != 0; rest &= rest - 1 {
			leaf.sendsInto[bits.TrailingZeros(rest)] += leaf.chance[set]
		}
	}
}

// maximize fits each tree to the leaves: its share by the chance that they send into it, its fall, by the weighted median,
// and its hosts by the chance that they send into nothing else.
func (mix *senderMixture) maximize() {
	off, all := usualScale*scaleLeaves, float64(scaleLeaves)
	for k := range mix.trees {
		tree := &mix.trees[k]
		falls := mix.falls[tree.begin:tree.end]
		share, weight, some, none := 1., 0., tree.seenHosts, 0.
		for _, f := range falls {
			leaf, alone := &mix.leaves[f.leaf], mix.chanceAlone(f)
			share, weight = share+leaf.sendsInto[f.slot], weight+alone
			switch leaf.hosts {
			case noHosts:
				none += alone
			case someHosts:
				some += alone
			}
		}
		tree.share, tree.hosts = share, hostChance(some, none)
		if weight > 0 {
			tree.fall = min(math.Log(mostFall), mix.median(falls, weight))
		}
		for _, f := range falls {
			off += mix.chanceAlone(f) * math.Abs(f.fall-tree.fall)
		}
		all += weight
	}
	mix.scale = off / all
}

// chanceAlone is the chance that a leaf sends into one tree alone.
func (mix *senderMixture) chanceAlone(f leafFall) float64 {
	return mix.leaves[f.leaf].chance[1<<f.slot]
}

// median is that of falls in ascending order, each weighted by the chance that the leaf shows it; the weights sum to total.
func (mix *senderMixture) median(falls []leafFall, total float64) float64 {
	sum := 0.
	for _, f := range falls {
		if sum += mix.chanceAlone(f); 2*sum >= total {
			return f.fall
		}
	}
	return falls[len(falls)-1].fall
}
