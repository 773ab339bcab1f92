package merging

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// interiors splits segments by their interiors. Stall decreases at the boundary of a region (by up to a quarter), so two
// touching regions are most similar where they touch, and the boundary of one may resemble the interior of the other. They are
// separated by the interior of the segment (its morphological erosion: the links with only neighbours in the segment), which is
// segmented on its own; its segments are the cores, the markers of watershed methods (Meyer and Beucher, J. Vis. Commun. Image
// Represent. 1, 1990). If a segment has several cores, each becomes a part, and labels are propagated from them to the rest.
type interiors struct {
	inner regionGraph // of interior links; its nodes are the cores

	links         []int32           // the interior ones, by index in candidates.links
	index         []int32           // by candidate: its index in links, or -1
	interiorLinks []int32           // by node
	numCores      []int32           // by node: number of cores that are large enough
	coreLabel     []int32           // by core: the label of its part, or 0
	label         []int32           // by candidate: its part, or its node if that is not split, or -1
	unassigned    []int32           // candidates without a label yet
	elected       []int32           // by index in unassigned: its label, or -1
	votes         []int32           // by label
	coreMean      []float64         // by label: level of its core
	coreVariance  []float64         // by label: variance of that mean
	partSize      []int32           // by label: links
	merged        linkset.UnionFind // labels

	contacts []contact // between parts of one node, both directions adjacent
}

const (
	interiorLambda = 2  // Mumford and Shah's lambda between interior links; see lambda
	minCoreLinks   = 15 // links
	// Cores of one region differ by less than this ratio, due to its slope, or by no
	// more than so many standard errors.
	sameCoreRatio  = 1.15
	sameCoreErrors = 3
	contactPerLink = .1 // units of boundary per link from which parts touch along their whole length
	// A segment is all boundary (a row, a tree) up to this share of interior links. Two
	// of these that differ by less than the ratio merge at a lambda of their own.
	allBoundaryShare  = .1
	allBoundaryRatio  = 1.3
	allBoundaryLambda = 8
)

// splitByInterior splits nodes with several cores, after merging similar nodes that are
// all boundary.
func (in *interiors) splitByInterior(g *regionGraph, noise noiseModel) {
	in.findInterior(g)
	in.mergeAllBoundary(g, noise)
	in.build(g)
	in.findCores(noise)
	if in.numberCores(g) {
		in.label = scratch.Slice(in.label, len(g.label))
		in.assign(g)
		in.propagateLabels(g)
		in.mergeIndistinguishable(g)
		g.relabel(in.label, int32(len(in.votes)))
	}
}

// findInterior lists the links whose neighbours are all in their own node.
func (in *interiors) findInterior(g *regionGraph) {
	in.links = in.links[:0]
	in.index = scratch.Slice(in.index, len(g.label))
	for i, a := range g.label {
		in.index[i] = -1
		if a != 0 && g.isInterior(int32(i)) {
			in.index[i] = int32(len(in.links))
			in.links = append(in.links, int32(i))
		}
	}
	in.countInterior(g)
}

func (in *interiors) countInterior(g *regionGraph) {
	in.interiorLinks = scratch.Slice(in.interiorLinks, g.numNodes())
	clear(in.interiorLinks)
	for _, i := range in.links {
		in.interiorLinks[g.label[i]]++
	}
}

func (g *regionGraph) isInterior(i int32) bool {
	for _, e := range g.linkEdges.of(i + 1) {
		if e.to == 0 || g.label[e.to-1] != g.label[i] {
			return false
		}
	}
	return true
}

// mergeAllBoundary merges nodes that are all boundary at a higher lambda, because there
// is little evidence to separate two of them from one with uneven stall.
func (in *interiors) mergeAllBoundary(g *regionGraph, noise noiseModel) {
	cost := func(a, b int32, length uint32) float64 {
		if a == 0 || b == 0 || in.hasInterior(g, a) || in.hasInterior(g, b) || stallRatio(g, noise, a, b) >= allBoundaryRatio {
			return math.Inf(1)
		}
		return g.mergeCostAt(allBoundaryLambda, a, b, length)
	}
	for g.boruvkaRound(cost) {
		in.countInterior(g)
	}
}

func (in *interiors) hasInterior(g *regionGraph, a int32) bool {
	return float64(in.interiorLinks[a]) > allBoundaryShare*float64(g.size[a])
}

// stallRatio is the ratio of the stalls of two nodes, the larger to the smaller.
func stallRatio(g *regionGraph, noise noiseModel, a, b int32) float64 {
	x, y := noise.unstabilise(g.mean[a]), noise.unstabilise(g.mean[b])
	return max(x, y) / max(minBase, min(x, y))
}

// build makes each interior link a node; there is no background.
func (in *interiors) build(g *regionGraph) {
	q := &in.inner
	q.lambda = interiorLambda
	q.level = scratch.Slice(q.level, len(in.links))
	q.linkEdges.reset()
	for k, i := range in.links {
		q.level[k] = g.level[i]
		for _, e := range g.linkEdges.of(i + 1) {
			if at := in.index[e.to-1]; at >= 0 {
				q.linkEdges.add(at+1, e.length)
			}
		}
		q.linkEdges.endNode()
	}
	q.resetToSingletons(0, 0)
}

// findCores segments the interior links.
func (in *interiors) findCores(noise noiseModel) {
	q := &in.inner
	for q.boruvkaRound(q.mergeCost) {
	}
	q.absorbSmall(minCoreLinks, false)
	alike := func(a, b int32, length uint32) float64 {
		if ratio := stallRatio(q, noise, a, b); ratio < sameCoreRatio {
			return ratio - 1
		}
		return 1 + q.mergeCost(a, b, length)
	}
	for q.boruvkaRound(alike) {
	}
}

// numberCores labels the cores of nodes that have several, with labels after those of
// the nodes, and reports whether there are any.
func (in *interiors) numberCores(g *regionGraph) bool {
	q := &in.inner
	in.numCores = scratch.Slice(in.numCores, g.numNodes())
	clear(in.numCores)
	in.coreLabel = scratch.Slice(in.coreLabel, q.numNodes())
	for k, i := range in.links { // all links of a core are in its node
		in.coreLabel[q.label[k]] = g.label[i]
	}
	for a := 1; a < q.numNodes(); a++ {
		if q.size[a] >= minCoreLinks {
			in.numCores[in.coreLabel[a]]++
		}
	}
	next := int32(g.numNodes())
	in.coreMean, in.coreVariance = scratch.Slice(in.coreMean, g.numNodes()+q.numNodes()), scratch.Slice(in.coreVariance, g.numNodes()+q.numNodes())
	for a := 1; a < q.numNodes(); a++ {
		if q.size[a] >= minCoreLinks && in.numCores[in.coreLabel[a]] > 1 {
			in.coreLabel[a], in.coreMean[next], in.coreVariance[next] = next, q.mean[a], 1/float64(q.size[a])
			next++
		} else {
			in.coreLabel[a] = 0
		}
	}
	in.votes = scratch.Slice(in.votes, int(next))
	clear(in.votes)
	return int(next) > g.numNodes()
}

// assign labels links with their core, or with their node if that is not split. The
// others are unassigned.
func (in *interiors) assign(g *regionGraph) {
	in.unassigned = in.unassigned[:0]
	for i, a := range g.label {
		in.label[i] = a
		if in.numCores[a] < 2 {
			continue
		}
		in.label[i] = -1
		if k := in.index[i]; k >= 0 && in.coreLabel[in.inner.label[k]] > 0 {
			in.label[i] = in.coreLabel[in.inner.label[k]]
		} else {
			in.unassigned = append(in.unassigned, int32(i))
		}
	}
}

// propagateLabels gives unassigned links, ring by ring, the majority label of their
// neighbours (seeded region growing; Adams and Bischof, IEEE PAMI 16, 1994). Links that
// no core reaches keep their node's label.
func (in *interiors) propagateLabels(g *regionGraph) {
	for grown := true; grown; {
		in.elected = in.elected[:0]
		for _, i := range in.unassigned {
			in.elected = append(in.elected, in.majorityVote(g, i))
		}
		left := in.unassigned[:0]
		for k, i := range in.unassigned {
			if in.label[i] = in.elected[k]; in.label[i] < 0 {
				left = append(left, i)
			}
		}
		grown = len(left) < len(in.unassigned)
		in.unassigned = left
	}
	for _, i := range in.unassigned {
		in.label[i] = g.label[i]
	}
}

// mergeIndistinguishable merges parts of a node that touch along their whole length and
// whose means differ by no more than chance: an unmeasured switch or a single bad value
// can cut a narrow interior in two.
func (in *interiors) mergeIndistinguishable(g *regionGraph) {
	in.findContacts(g)
	in.merged.Reset(len(in.votes))
	for i := 0; i < len(in.contacts); {
		a, b, length := in.contacts[i].a, in.contacts[i].b, uint32(0)
		for ; i < len(in.contacts) && in.contacts[i].a == a && in.contacts[i].b == b; i++ {
			length += in.contacts[i].length
		}
		perLink := float64(length) * edgeUnit * (1/float64(in.partSize[a]) + 1/float64(in.partSize[b]))
		chance := sameCoreErrors * math.Sqrt(in.coreVariance[a]+in.coreVariance[b])
		if perLink >= contactPerLink && math.Abs(in.coreMean[a]-in.coreMean[b]) < chance {
			in.merged.Union(a, b)
		}
	}
	for i, a := range in.label {
		in.label[i] = in.merged.Find(a)
	}
}

// findContacts lists the contacts between parts of one node, both directions adjacent,
// and counts the parts' links.
func (in *interiors) findContacts(g *regionGraph) {
	in.contacts, in.partSize = in.contacts[:0], scratch.Slice(in.partSize, len(in.votes))
	clear(in.partSize)
	first := int32(g.numNodes()) // label of a part
	for i, a := range in.label {
		in.partSize[a]++
		if a < first {
			continue
		}
		for _, e := range g.linkEdges.of(int32(i) + 1) {
			if e.to > 0 && a < in.label[e.to-1] && g.label[e.to-1] == g.label[i] {
				in.contacts = append(in.contacts, contact{a, in.label[e.to-1], e.length})
			}
		}
	}
	slices.SortFunc(in.contacts, func(x, y contact) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
}

// contact is the length of the boundary between two parts.
type contact struct {
	a, b   int32
	length uint32
}

// majorityVote returns the most frequent label among a link's neighbours in its node,
// weighted by length of boundary, or -1; on a tie the one with the closest mean.
func (in *interiors) majorityVote(g *regionGraph, i int32) int32 {
	around, best := g.linkEdges.of(i+1), int32(-1)
	for _, e := range around {
		if e.to == 0 || g.label[e.to-1] != g.label[i] || in.label[e.to-1] < 0 {
			continue
		}
		a := in.label[e.to-1]
		in.votes[a] += int32(e.length)
		if best < 0 || in.votes[a] > in.votes[best] || in.votes[a] == in.votes[best] && in.distance(g, i, a) < in.distance(g, i, best) {
			best = a
		}
	}
	for _, e := range around {
		if e.to > 0 && in.label[e.to-1] >= 0 {
			in.votes[in.label[e.to-1]] = 0
		}
	}
	return best
}

// distance is the difference between a link's level and a core's mean.
func (in *interiors) distance(g *regionGraph, i, label int32) float64 {
	return math.Abs(float64(g.level[i])*levelUnit - in.coreMean[label])
}
