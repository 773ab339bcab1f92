package merging

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// regionGraph is a region adjacency graph (RAG): its nodes are segments, sets of links of similar
// level, and its edges the boundaries between them, in CSR form. Node 0 is the background, whose
// level is known and fixed. Links are identified by index in candidates.links.
type regionGraph struct {
	lambda float64 // Mumford and Shah's: the cost of a unit of boundary, in variances of the noise
	label  []int32 // by link: its node
	size   []int32 // by node: number of links
	sum    []int64 // by node: sum of the levels, in units of levelUnit
	mean   []float64
	edges  edgeList

	observed  []int32           // by link: level, in units of levelUnit
	level     []int32           // by link: the same, winsorised to the neighbours' levels
	linkEdges edgeList          // by link + 1: its neighbours, with each link as a node
	best      []partner         // by node
	merged    linkset.UnionFind // nodes to be merged in this round
	newNode   []int32           // by node: its number after the next contraction
	members   []int32           // nodes grouped by that number
	begins    []int32           // by that number: its start in members
	seen      []int32
	spare     struct { // the other half of the double-buffered fields
		size  []int32
		sum   []int64
		edges [2]edgeList
		turn  int
	}
}

const (
	levelUnit = 1. / 1024 // deviations of the noise
	edgeUnit  = 1. / 64   // units of boundary
	// autoMergeCost is the cost up to which a node is merged without being the other's best partner: it
	// is well below chance differences within one level, and saves rounds.
	autoMergeCost = .2
	// outlierDamping divides the distance of a link's level beyond all its neighbours' levels. It is kept
	// above zero so that no two links become equal.
	outlierDamping = 32
	// absorbRatio is how many times as large a node must be for others to merge into it without being
	// its best partner: its mean hardly changes.
	absorbRatio = 8
	// backgroundSize keeps the background's level constant, whatever is merged into it, and keeps
	// it from counting as small.
	backgroundSize = math.MaxInt32
)

// build makes each candidate a node.
func (g *regionGraph) build(values []float32, c *candidates, noise noiseModel) {
	g.lambda = lambda
	n := len(c.links)
	g.observed, g.level = scratch.Slice(g.observed, n), scratch.Slice(g.level, n)
	for i, l := range c.links {
		g.observed[i] = int32(noise.stabilise(float64(values[l]))/levelUnit + .5)
	}
	background := int32(noise.stabilise(noise.background)/levelUnit + .5)
	g.linkEdges.reset()
	g.seen = scratch.Slice(g.seen, n)
	for i := range g.seen {
		g.seen[i] = -1
	}
	for i, l := range c.links {
		g.level[i] = g.addLink(int32(i), l, background, c)
		g.linkEdges.endNode()
	}
	g.resetToSingletons(backgroundSize, backgroundSize*int64(background))
}

// resetToSingletons makes each link a node, plus a background with the given size and
// sum.
func (g *regionGraph) resetToSingletons(background int32, sum int64) {
	n := len(g.level) + 1
	g.label, g.size, g.sum = scratch.Slice(g.label, n-1), scratch.Slice(g.size, n), scratch.Slice(g.sum, n)
	g.spare.size, g.spare.sum = scratch.Slice(g.spare.size, n), scratch.Slice(g.spare.sum, n)
	for i := range g.spare.edges {
		g.spare.edges[i].reserve(&g.linkEdges)
	}
	g.size[0], g.sum[0] = background, sum
	for i, level := range g.level {
		g.label[i], g.size[i+1], g.sum[i+1] = int32(i)+1, 1, int64(level)
	}
	g.edges = g.linkEdges
	g.findMeans()
}

// addLink lists the edges of a link and returns its level, winsorised to slightly
// beyond the range of its neighbours' levels. A value far from all around it is a
// measurement error or will not form a region.
func (g *regionGraph) addLink(i, l, background int32, c *candidates) int32 {
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	toBackground, begin := uint32(0), int32(len(g.linkEdges.all))
	a, b := c.mergedSwitchesOf(l)
	for _, s := range [2]int32{a, b} {
		if s == linkset.NoSwitch {
			continue
		}
		links := c.at(s)
		around := int32(len(links)) + c.backgroundLinks[s] - 1
		if around == 0 {
			continue
		}
		share := uint32(max(1, boundaryPerSwitch/edgeUnit/float64(around)+.5))
		for _, j := range links {
			if j == i {
				continue
			}
			if at := g.seen[j]; at >= begin { // adjacent at the other switch as well
				g.linkEdges.all[at].length += share
				continue
			}
			g.seen[j] = int32(len(g.linkEdges.all))
			g.linkEdges.add(j+1, share)
			low, high = min(low, g.observed[j]), max(high, g.observed[j])
		}
		toBackground += share * uint32(c.backgroundLinks[s])
	}
	if toBackground > 0 {
		g.linkEdges.add(0, toBackground)
		low, high = min(low, background), max(high, background)
	}
	if low > high {
		return g.observed[i]
	}
	within := max(low, min(high, g.observed[i]))
	return within + (g.observed[i]-within)/outlierDamping
}

func (g *regionGraph) numNodes() int { return len(g.size) }

func (g *regionGraph) findMeans() {
	g.mean = scratch.Slice(g.mean, len(g.size))
	for i := range g.mean {
		g.mean[i] = float64(g.sum[i]) * levelUnit / float64(max(1, g.size[i]))
	}
}

// mergeAll merges while that decreases the functional.
func (g *regionGraph) mergeAll() {
	for g.boruvkaRound(g.mergeCost) {
	}
}

// absorbSmall merges nodes with fewer than minLinks links into the neighbour with the closest mean; if keepAlone, not into the
// background if that is their only neighbour.
func (g *regionGraph) absorbSmall(minLinks int32, keepAlone bool) {
	distance := func(a, b int32, _ uint32) float64 {
		if min(g.size[a], g.size[b]) >= minLinks || keepAlone && min(a, b) == 0 && len(g.edges.of(max(a, b))) == 1 {
			return math.Inf(1)
		}
		return math.Abs(g.mean[a] - g.mean[b])
	}
	for g.boruvkaRound(distance) {
	}
}

// mergeCost is the scale at which two nodes merge under the piecewise constant functional of Mumford and
// Shah, sum of squared errors + lambda x length of boundaries: the increase of the squared error (Ward's
// criterion, na nb/(na+nb) d^2) per unit of boundary removed (Koepfler, Lopez and Morel 1994). It is
// infinite from lambda on, where the edge stays. Deviation from the paper: a boundary that is short for
// its segments counts for less than its length; see contactRatio.
func (g *regionGraph) mergeCost(a, b int32, length uint32) float64 {
	return g.mergeCostAt(g.lambda, a, b, length)
}

func (g *regionGraph) mergeCostAt(lambda float64, a, b int32, length uint32) float64 {
	difference := g.mean[a] - g.mean[b]
	na, nb := float64(g.size[a]), float64(g.size[b])
	// Both are multiplied by na+nb, which saves divisions.
	rise, boundary := difference*difference*(na*nb), float64(length)*edgeUnit*(na+nb)
	if rise >= lambda*boundary { // true for most edges
		return math.Inf(1)
	}
	if full := contactRatio * (na * nb); boundary < full {
		boundary *= boundary / full
	}
	if rise >= lambda*boundary {
		return math.Inf(1)
	}
	return rise / boundary
}

// boruvkaRound merges the nodes that are each other's best partners, at the least cost, as in
// Boruvka's algorithm for minimum spanning trees (1926), and reports whether there were any. Merges of
// a round are independent, so that the order of edges does not matter. A cost is symmetric, and
// infinite for an edge that must stay.
func (g *regionGraph) boruvkaRound(cost func(a, b int32, length uint32) float64) (merged bool) {
	n := g.numNodes()
	g.best = scratch.Slice(g.best, n)
	g.merged.Reset(n)
	for a := range g.best {
		g.best[a] = partner{node: -1, cost: math.Inf(1)}
	}
	for a := int32(1); a < int32(n); a++ {
		for _, e := range g.edges.of(a) {
			b := e.to
			if b > 0 && b < a {
				continue // handled from the other side
			}
			c := cost(a, b, e.length)
			if c > math.MaxFloat64 {
				continue
			}
			if c == 0 { // identical: merge all, or their numbering would decide
				g.merged.Union(a, b)
				merged = true
				continue
			}
			if c <= g.best[a].cost {
				g.offer(a, partner{b, e.length, c})
			}
			if b > 0 && c <= g.best[b].cost {
				g.offer(b, partner{a, e.length, c})
			}
		}
	}
	for a := int32(1); a < int32(n); a++ {
		b, cost := g.best[a].node, g.best[a].cost
		if b >= 0 && (b == 0 || cost <= autoMergeCost || g.best[b].node == a || g.size[b] >= absorbRatio*g.size[a]) {
			g.merged.Union(a, b)
			merged = true
		}
	}
	if merged {
		g.contract()
	}
	return merged
}

// partner is a node to merge with, over an edge with a length and a cost.
type partner struct {
	node   int32 // or -1
	length uint32
	cost   float64
}

// offer makes p the best partner of a node if it is better than the current one.
func (g *regionGraph) offer(to int32, p partner) {
	best := &g.best[to]
	if p.cost < best.cost || best.node >= 0 && g.prefers(p.node, best.node, p.length, best.length) {
		*best = p
	}
}

// prefers breaks a tie between two partners: the longer boundary, the larger node, the
// higher level, the higher levels around; last the numbers, which are arbitrary.
func (g *regionGraph) prefers(a, b int32, lengthA, lengthB uint32) bool {
	if c := cmp.Or(cmp.Compare(lengthB, lengthA), cmp.Compare(g.size[b], g.size[a]), cmp.Compare(g.sum[b], g.sum[a])); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(g.levelsAround(b), g.levelsAround(a)), cmp.Compare(a, b)) < 0
}

// levelsAround is the sum of the neighbours' levels, weighted by boundary length.
func (g *regionGraph) levelsAround(a int32) (sum int64) {
	for _, e := range g.edges.of(a) {
		sum += int64(e.length) * (g.sum[e.to] / int64(max(1, g.size[e.to])))
	}
	return sum
}

// contract replaces each set of merged nodes by one node.
func (g *regionGraph) contract() {
	g.newNode = scratch.Slice(g.newNode, g.numNodes())
	count := int32(0)
	for a := range int32(g.numNodes()) { // roots are the smallest of their set, so they come first
		if root := g.merged.Find(a); root == a {
			g.newNode[a] = count
			count++
		} else {
			g.newNode[a] = g.newNode[root]
		}
	}
	g.renumber(count)
}

// renumber merges the nodes with the same new number, of which there are count; 0 is
// the background.
func (g *regionGraph) renumber(count int32) {
	g.groupBy(count)
	g.contractEdges(count)
	size, sum := scratch.Slice(g.spare.size, int(count)), scratch.Slice(g.spare.sum, int(count))
	clear(size)
	clear(sum)
	for a, to := range g.newNode {
		if to != 0 { // the background is unchanged
			size[to] += g.size[a]
			sum[to] += g.sum[a]
		}
	}
	size[0], sum[0] = g.size[0], g.sum[0]
	g.size, g.spare.size = size, g.size
	g.sum, g.spare.sum = sum, g.sum
	g.findMeans()
	for i, a := range g.label {
		g.label[i] = g.newNode[a]
	}
}

// relabel merges the links with the same label into a node, labels being below labels;
// 0 is the background.
func (g *regionGraph) relabel(label []int32, labels int32) {
	g.resetToSingletons(g.size[0], g.sum[0])
	g.newNode = scratch.Slice(g.newNode, g.numNodes())
	g.newNode[0] = 0
	g.seen = scratch.Slice(g.seen, int(labels))
	clear(g.seen)
	count := int32(1)
	for i, a := range label {
		if a != 0 && g.seen[a] == 0 {
			g.seen[a] = count
			count++
		}
		g.newNode[i+1] = g.seen[a]
	}
	g.renumber(count)
}

// groupBy groups the nodes by new number: those with number a are
// members[begins[a]:begins[a+1]].
func (g *regionGraph) groupBy(count int32) {
	g.begins = scratch.Slice(g.begins, int(count)+2)
	clear(g.begins)
	for _, a := range g.newNode {
		g.begins[a+2]++
	}
	for a := range count {
		g.begins[a+2] += g.begins[a+1]
	}
	g.members = scratch.Slice(g.members, len(g.newNode))
	for a, to := range g.newNode {
		g.members[g.begins[to+1]] = int32(a)
		g.begins[to+1]++
	}
}

// contractEdges sums parallel edges between groups and drops those within a group.
func (g *regionGraph) contractEdges(count int32) {
	g.seen = scratch.Slice(g.seen, int(count))
	for i := range g.seen {
		g.seen[i] = -1
	}
	g.spare.turn = 1 - g.spare.turn
	next := &g.spare.edges[g.spare.turn]
	next.reset()
	for a := int32(1); a < count; a++ {
		begin := int32(len(next.all))
		for _, old := range g.members[g.begins[a]:g.begins[a+1]] {
			for _, e := range g.edges.of(old) {
				b := g.newNode[e.to]
				if b == a {
					continue
				}
				if at := g.seen[b]; at >= begin {
					next.all[at].length += e.length
				} else {
					g.seen[b] = int32(len(next.all))
					next.add(b, e.length)
				}
			}
		}
		next.endNode()
	}
	g.edges = *next
}
