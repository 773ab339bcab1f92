package merging

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// overlaps resolves superposition, where two causes add up: a segment whose stall is the sum of two
// neighbours' belongs to both. And it joins what such a segment splits: two of its neighbours of one
// stall are one region that goes on beyond it.
type overlaps struct {
	mean         []float64 // by node: stall, percent
	meanVariance []float64
	total        []int64 // by node: sum of the stalls, in stallUnit
	order        []int32 // nodes, the calmest first
	owners       []ownerSet
	bridged      []int32           // by node: a summand of which it joins two parts, or -1
	merged       linkset.UnionFind // nodes that are one region
	regionSize   []int32           // by region: a root of merged
	neighbours   []neighbour
	begins       []int32
}

// ownerSet is the regions that a node belongs to.
type ownerSet struct {
	of    [maxOwners]int32
	count int32
}

// neighbour is a node beside another, and the length of their boundary.
type neighbour struct {
	node   int32
	length float64
}

const (
	maxOwners = 3
	stallUnit = 1. / 1024 // percent points
	// A sum may be off by the error of the means and a little more: links that
	// are stalled for two reasons may hide a part of one.
	sumSlack      = .3 // percent points
	sumShare      = .01
	sumDeviations = 3
	// Close to full stall a sum is cut off.
	saturated      = 92
	saturatedSlack = 8
	// minContactPerLink is the boundary per link without which a neighbour is no
	// summand, and enclosedShare the share of its boundary from which a node lies
	// inside another.
	minContactPerLink = .2
	enclosedShare     = .8
	// maxBackgroundShare is the share of its boundary that a sum may have with the
	// background: where two regions overlap, each goes on beyond.
	maxBackgroundShare = .6
)

// resolve decides which regions each node belongs to.
func (o *overlaps) resolve(g *regionGraph, values []float32, c *candidates, noise noiseModel, minMean float64, overlap bool) {
	o.measure(g, values, c, noise)
	n := g.numNodes()
	o.merged.Reset(n)
	o.owners, o.bridged = scratch.Slice(o.owners, n), scratch.Slice(o.bridged, n)
	o.order = o.order[:0]
	for a := int32(1); a < int32(n); a++ {
		o.order = append(o.order, a)
	}
	slices.SortFunc(o.order, func(a, b int32) int { return cmp.Or(cmp.Compare(o.mean[a], o.mean[b]), cmp.Compare(a, b)) })
	for _, a := range o.order { // the calmer first: what is a sum may be a summand of a larger one
		o.owners[a], o.bridged[a] = owner(a), -1
		around, background := o.findCalmerNeighbours(g, a, minMean)
		if x, y, ok := o.findSummands(a, g.size[a]); ok && background <= maxBackgroundShare*around {
			o.owners[a] = o.owners[x].with(o.owners[y])
			o.bridged[a] = o.joinSplitParts(x, y, overlap)
		} else if x, ok := o.findEnclosing(around); ok {
			o.owners[a] = o.owners[a].with(o.owners[x])
		}
	}
	o.assignRegions(g, overlap)
}

// measure finds the mean stall of each node and its variance.
func (o *overlaps) measure(g *regionGraph, values []float32, c *candidates, noise noiseModel) {
	n := g.numNodes()
	o.total, o.mean, o.meanVariance = scratch.Slice(o.total, n), scratch.Slice(o.mean, n), scratch.Slice(o.meanVariance, n)
	clear(o.total)
	for i, a := range g.label {
		o.total[a] += int64(float64(values[c.links[i]])/stallUnit + .5)
	}
	for a := range o.mean {
		links := float64(max(1, g.size[a]))
		o.mean[a] = float64(o.total[a]) * stallUnit / links
		sigma := noise.sigma(o.mean[a])
		o.meanVariance[a] = sigma * sigma / links
	}
}

// findCalmerNeighbours lists in neighbours the calmer nodes beside a node that are
// stalled enough to be regions, and returns the length of the node's whole boundary
// and of that with the background.
func (o *overlaps) findCalmerNeighbours(g *regionGraph, a int32, minMean float64) (around, background float64) {
	o.neighbours = o.neighbours[:0]
	for _, e := range g.edges.of(a) {
		b, units := e.to, float64(e.length)*edgeUnit
		around += units
		if b == 0 {
			background += units
		} else if o.mean[b] < o.mean[a] && o.mean[b] >= minMean {
			o.neighbours = append(o.neighbours, neighbour{b, units})
		}
	}
	slices.SortFunc(o.neighbours, func(x, y neighbour) int {
		return cmp.Or(cmp.Compare(o.mean[x.node], o.mean[y.node]), cmp.Compare(x.node, y.node))
	})
	return around, background
}

// findSummands looks among the neighbours for the two whose stalls add up to a
// node's best.
func (o *overlaps) findSummands(a, size int32) (x, y int32, ok bool) {
	best := 1.
	for i, u := range o.neighbours {
		for _, v := range o.neighbours[:i] {
			if min(u.length, v.length) < minContactPerLink*float64(size) {
				continue
			}
			sum := min(100, o.mean[u.node]+o.mean[v.node])
			slack := sumSlack + sumShare*o.mean[a] + sumDeviations*math.Sqrt(o.meanVariance[a]+o.meanVariance[u.node]+o.meanVariance[v.node])
			if sum > saturated {
				slack = max(slack, saturatedSlack)
			}
			if off := math.Abs(o.mean[a]-sum) / slack; off < best {
				best, x, y, ok = off, u.node, v.node, true
			}
		}
	}
	return x, y, ok
}

// joinSplitParts joins either summand with the neighbours of the same stall, and
// returns a summand of which the node bridges two parts, or -1. Without overlap it
// can bridge one: regions have no gaps.
func (o *overlaps) joinSplitParts(x, y int32, overlap bool) (bridged int32) {
	bridged = -1
	for _, summand := range [2]int32{x, y} {
		if o.owners[summand].count > 1 || bridged >= 0 && !overlap {
			continue
		}
		for _, c := range o.neighbours {
			if c.node == x || c.node == y || o.owners[c.node].count > 1 {
				continue
			}
			difference := math.Abs(o.mean[c.node] - o.mean[summand])
			if difference < sumSlack+sumDeviations*math.Sqrt(o.meanVariance[c.node]+o.meanVariance[summand]) {
				o.merged.Union(c.node, summand)
				bridged = summand
			}
		}
	}
	return bridged
}

// findEnclosing looks among the neighbours for the node that has this one inside.
func (o *overlaps) findEnclosing(around float64) (x int32, ok bool) {
	for _, u := range o.neighbours {
		if u.length > enclosedShare*around && o.owners[u.node].count == 1 {
			return u.node, true
		}
	}
	return 0, false
}

func owner(a int32) ownerSet { return ownerSet{of: [maxOwners]int32{a}, count: 1} }

// with is both owners' union, as far as there is room.
func (o ownerSet) with(other ownerSet) ownerSet {
	for _, b := range other.of[:other.count] {
		if o.count < maxOwners && !slices.Contains(o.of[:o.count], b) {
			o.of[o.count] = b
			o.count++
		}
	}
	return o
}

// assignRegions puts regions for nodes as owners: first the one that the node
// bridges, then the smallest, to which it is most. Without overlap the first is the
// only one, and must be beside the node: a sum may have an owner by way of a sum
// that went elsewhere.
func (o *overlaps) assignRegions(g *regionGraph, overlap bool) {
	n := g.numNodes()
	o.regionSize = scratch.Slice(o.regionSize, n)
	clear(o.regionSize)
	for a := int32(1); a < int32(n); a++ {
		if o.owners[a].count == 1 {
			o.regionSize[o.merged.Find(a)] += g.size[a]
		}
	}
	for _, a := range o.order {
		isSum := o.owners[a].of[0] != a
		resolved := ownerSet{}
		for _, b := range o.owners[a].of[:o.owners[a].count] {
			resolved = resolved.with(owner(o.merged.Find(b)))
		}
		regions := resolved.of[:resolved.count]
		if isSum {
			o.rankRegions(regions, o.bridged[a])
		}
		if !overlap {
			first := 0
			if isSum { // its calmer part is beside it, and with one of them already
				first = slices.IndexFunc(regions, func(region int32) bool { return o.touchesRegion(g, a, region) })
			}
			resolved = owner(regions[first])
		}
		o.owners[a] = resolved
	}
}

// rankRegions sorts the regions of a sum: the one that it bridges, then by size.
func (o *overlaps) rankRegions(regions []int32, summand int32) {
	size := func(region int32) int32 {
		if summand >= 0 && region == o.merged.Find(summand) {
			return 0
		}
		return o.regionSize[region]
	}
	slices.SortFunc(regions, func(x, y int32) int {
		return cmp.Or(cmp.Compare(size(x), size(y)), cmp.Compare(o.mean[x], o.mean[y]), cmp.Compare(x, y))
	})
}

// touchesRegion reports whether a calmer node beside a is a region's.
func (o *overlaps) touchesRegion(g *regionGraph, a, region int32) bool {
	return slices.ContainsFunc(g.edges.of(a), func(e edge) bool {
		b := e.to
		return b != 0 && o.mean[b] < o.mean[a] && o.owners[b].of[0] == region
	})
}

// emit makes a group of each region.
func (o *overlaps) emit(g *regionGraph, c *candidates, out *linkset.Groups) {
	owned := func(a int32) []int32 { return o.owners[a].of[:o.owners[a].count] }
	o.owners[0] = ownerSet{} // the background is no region
	o.begins = scratch.Slice(o.begins, g.numNodes()+1)
	clear(o.begins)
	for a := range int32(g.numNodes()) {
		for _, r := range owned(a) {
			o.begins[r+1] += g.size[a]
		}
	}
	first := int32(len(out.Links))
	for r := range g.numNodes() {
		if o.begins[r+1] > 0 {
			out.Ends = append(out.Ends, first+o.begins[r]+o.begins[r+1])
		}
		o.begins[r+1] += o.begins[r]
	}
	out.Links = slices.Grow(out.Links, int(o.begins[g.numNodes()]))[:int(first+o.begins[g.numNodes()])]
	for i, l := range c.links {
		for _, r := range owned(g.label[i]) {
			out.Links[first+o.begins[r]] = schema.LinkID(l)
			o.begins[r]++
		}
	}
}
