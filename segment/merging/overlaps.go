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
// neighbours' belongs to both. It also joins what such a segment separates: two of its neighbours
// with the same stall are one region that continues beyond it.
type overlaps struct {
	mean         []float64 // by node: stall, percent
	meanVariance []float64
	total        []int64 // by node: sum of the stalls, in units of stallUnit
	order        []int32 // nodes, calmest first
	owners       []ownerSet
	bridged      []int32           // by node: a summand, two parts of which it joins, or -1
	merged       linkset.UnionFind // nodes that are one region
	regionSize   []int32           // by region, identified by a root of merged
	neighbours   []neighbour
	begins       []int32
}

// ownerSet is the set of regions that a node belongs to.
type ownerSet struct {
	of    [maxOwners]int32
	count int32
}

// neighbour is a node next to another, with the length of their boundary.
type neighbour struct {
	node   int32
	length float64
}

const (
	maxOwners = 3
	stallUnit = 1. / 1024 // percent points
	// A sum may be off by the errors of the means and a little more: links stalled for
	// two reasons may hide part of one.
	sumSlack      = .3 // percent points
	sumShare      = .01
	sumDeviations = 3
	// Near full stall a sum is clipped.
	saturated      = 92
	saturatedSlack = 8
	// minContactPerLink is the boundary per link below which a neighbour is not a
	// summand; enclosedShare is the share of its boundary from which a node counts as
	// inside another.
	minContactPerLink = .2
	enclosedShare     = .8
	// maxBackgroundShare is the largest share of its boundary that a sum may have with
	// the background: where two regions overlap, each continues beyond.
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
	for _, a := range o.order { // calmer nodes first: a sum may be a summand of a larger one
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

// findCalmerNeighbours sets neighbours to the calmer nodes next to a node that are
// stalled enough to be regions, and returns the length of the node's whole boundary and
// of that with the background.
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

// findSummands finds the two neighbours whose stalls add up best to that of a node.
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

// joinSplitParts joins each summand with the neighbours of the same stall, and returns
// a summand two parts of which the node bridges, or -1. Without overlap it can bridge
// only one, because regions have no gaps.
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

// findEnclosing returns the neighbour that encloses the node.
func (o *overlaps) findEnclosing(around float64) (x int32, ok bool) {
	for _, u := range o.neighbours {
		if u.length > enclosedShare*around && o.owners[u.node].count == 1 {
			return u.node, true
		}
	}
	return 0, false
}

func owner(a int32) ownerSet { return ownerSet{of: [maxOwners]int32{a}, count: 1} }

// with returns the union of both sets, up to maxOwners.
func (o ownerSet) with(other ownerSet) ownerSet {
	for _, b := range other.of[:other.count] {
		if o.count < maxOwners && !slices.Contains(o.of[:o.count], b) {
			o.of[o.count] = b
			o.count++
		}
	}
	return o
}

// assignRegions replaces nodes by regions as owners: first the region that the node
// bridges, then the smallest, of which the node is the largest part. Without overlap
// only the first one counts, and it must touch the node: a sum may have an owner
// through another sum that was assigned elsewhere.
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
			if isSum { // its calmer part touches it and has one of them already
				first = slices.IndexFunc(regions, func(region int32) bool { return o.touchesRegion(g, a, region) })
			}
			resolved = owner(regions[first])
		}
		o.owners[a] = resolved
	}
}

// rankRegions sorts the regions of a sum: the bridged one first, then by size.
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

// touchesRegion reports whether a calmer node next to a belongs to a region.
func (o *overlaps) touchesRegion(g *regionGraph, a, region int32) bool {
	return slices.ContainsFunc(g.edges.of(a), func(e edge) bool {
		b := e.to
		return b != 0 && o.mean[b] < o.mean[a] && o.owners[b].of[0] == region
	})
}

// emit outputs a group per region.
func (o *overlaps) emit(g *regionGraph, c *candidates, out *linkset.Groups) {
	owned := func(a int32) []int32 { return o.owners[a].of[:o.owners[a].count] }
	o.owners[0] = ownerSet{} // the background is not a region
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
