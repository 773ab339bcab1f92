package merging

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// treePieces joins the pieces into which steps 3 to 5 cut a congestion tree. Back pressure spreads from a full
// port against the direction of its traffic, link by link, so that a tree has about as many links as switches.
// How much each stalls depends on the share of its traffic that goes to the root, which its neighbours do not
// show: stall is not constant, and a difference does not separate causes. Hence adjacent pieces are one region
// if they are thin, and together about as uneven, beyond noise, in pieces as in one. A body of uniformly
// stalled links has up to three links per switch; rows that are as thin as a tree are even, and where two meet
// their levels distinguish them.
type treePieces struct {
	thin     []bool            // by node
	switches []int32           // by node: number of its switches, merged ones counted once
	seenAt   []int32           // by node: the last switch counted
	joined   linkset.UnionFind // nodes
	links    []int64           // by root of joined
	sum      []int64           // by root of joined: sum of the levels, in units of levelUnit
	within   []int64           // by root of joined: deviation of its links from the means of their nodes, in units of levelUnit
	total    []int64           // by root of joined: the same from the mean of all
	small    []int64           // by root of joined: links in nodes too small to be a region
	halves   []levelHalf       // two per root of joined: its links below the mean of all, and the others
	enclosed []bool            // by root of joined: it touches only thin nodes and the background
	label    []int32           // by candidate
}

// levelHalf is the links on one side of a mean.
type levelHalf struct{ links, sum, apart int64 } // apart: their deviation from their own mean, in units of levelUnit

const (
	// thinLinks is the number of links per switch up to which a segment is thin. Pieces of trees have .9
	// to 1.1, of all-to-alls up to 1.2, cuboids at least 1.4.
	thinLinks = 1.25
	// unevenDeviation is the mean deviation from which pieces are uneven: twice that of normal noise.
	unevenDeviation = 2 * .8
	// unevenShare is the share of the deviation that must remain with a separate mean for each piece.
	unevenShare = .5
	// spreadShare is the share that must remain with separate means below and above the mean: two even rows
	// leave almost nothing, evenly distributed levels half.
	spreadShare = .25
)

// joinFragments joins thin nodes that touch, are uneven together and are mostly too small to be a region,
// before these are merged into the neighbour closest in level, or into the background.
func (p *treePieces) joinFragments(g *regionGraph, c *candidates, minLinks int32) {
	if p.findMeeting(g, c) {
		p.findFragments(g, minLinks)
		p.merge(g, func(root int32) bool { return p.isFragmented(root, int64(minLinks)) })
	}
}

// join joins thin nodes that touch and are uneven also within pieces.
func (p *treePieces) join(g *regionGraph, c *candidates) {
	if p.findMeeting(g, c) {
		p.merge(g, p.isUneven)
	}
}

// findMeeting finds the thin nodes that touch and measures how uneven they are; it is false if there are none.
func (p *treePieces) findMeeting(g *regionGraph, c *candidates) (met bool) {
	p.findThin(g, c)
	p.joined.Reset(g.numNodes())
	for a := range int32(g.numNodes()) {
		if !p.thin[a] {
			continue
		}
		for _, e := range g.edges.of(a) {
			if e.to > a && p.thin[e.to] {
				p.joined.Union(a, e.to)
				met = true
			}
		}
	}
	if met {
		p.measureUnevenness(g)
	}
	return met
}

// findThin finds the nodes that have few links for their number of switches. The background is not thin.
func (p *treePieces) findThin(g *regionGraph, c *candidates) {
	p.switches, p.seenAt = scratch.Slice(p.switches, g.numNodes()), scratch.Slice(p.seenAt, g.numNodes())
	clear(p.switches)
	for a := range p.seenAt {
		p.seenAt[a] = linkset.NoSwitch
	}
	for _, s := range c.mergedSwitches {
		for _, i := range c.at(s) {
			if a := g.label[i]; p.seenAt[a] != s {
				p.seenAt[a] = s
				p.switches[a]++
			}
		}
	}
	p.thin = scratch.Slice(p.thin, g.numNodes())
	p.thin[0] = false
	for a := 1; a < g.numNodes(); a++ {
		p.thin[a] = float64(g.size[a]) <= thinLinks*float64(p.switches[a])
	}
}

// measureUnevenness sums for each group of touching pieces the deviations of links from the means of
// their nodes and from the mean of all.
func (p *treePieces) measureUnevenness(g *regionGraph) {
	n := g.numNodes()
	p.links, p.sum, p.within, p.total = scratch.Slice(p.links, n), scratch.Slice(p.sum, n), scratch.Slice(p.within, n), scratch.Slice(p.total, n)
	for _, of := range [][]int64{p.links, p.sum, p.within, p.total} {
		clear(of)
	}
	for a, thin := range p.thin {
		if thin {
			root := p.joined.Find(int32(a))
			p.links[root] += int64(g.size[a])
			p.sum[root] += g.sum[a]
		}
	}
	for i, a := range g.label {
		if p.thin[a] {
			root, level := p.joined.Find(a), int64(g.observed[i])
			p.within[root] += distance(level, g.sum[a]/int64(g.size[a]))
			p.total[root] += distance(level, p.sum[root]/p.links[root])
		}
	}
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// findFragments counts for each group of touching pieces the links in nodes of fewer than minLinks, and
// determines whether it touches other nodes.
func (p *treePieces) findFragments(g *regionGraph, minLinks int32) {
	n := g.numNodes()
	p.small, p.enclosed = scratch.Slice(p.small, n), scratch.Slice(p.enclosed, n)
	clear(p.small)
	for a := range p.enclosed {
		p.enclosed[a] = true
	}
	for a := range int32(n) {
		if !p.thin[a] {
			continue
		}
		root := p.joined.Find(a)
		if g.size[a] < minLinks {
			p.small[root] += int64(g.size[a])
		}
		for _, e := range g.edges.of(a) {
			p.enclosed[root] = p.enclosed[root] && (e.to == 0 || p.thin[e.to])
		}
	}
	p.halves = scratch.Slice(p.halves, 2*n)
	clear(p.halves)
	p.eachHalf(g, func(h *levelHalf, level int64) { h.links, h.sum = h.links+1, h.sum+level })
	p.eachHalf(g, func(h *levelHalf, level int64) { h.apart += distance(level, h.sum/h.links) })
}

// eachHalf calls f for each link of a thin node with its half and its level.
func (p *treePieces) eachHalf(g *regionGraph, f func(h *levelHalf, level int64)) {
	for i, a := range g.label {
		if !p.thin[a] {
			continue
		}
		root, level := p.joined.Find(a), int64(g.observed[i])
		side := 2 * root
		if level*p.links[root] > p.sum[root] {
			side++
		}
		f(&p.halves[side], level)
	}
}

func (p *treePieces) isUneven(root int32) bool {
	within := float64(p.within[root])
	return within*levelUnit > unevenDeviation*float64(p.links[root]) && within > unevenShare*float64(p.total[root])
}

func (p *treePieces) isFragmented(root int32, minLinks int64) bool {
	links, apart := p.links[root], float64(p.halves[2*root].apart+p.halves[2*root+1].apart)
	return links >= minLinks && 2*p.small[root] >= links && p.enclosed[root] &&
		apart*levelUnit > unevenDeviation*float64(links) && apart > spreadShare*float64(p.total[root])
}

// merge joins the touching nodes for which the condition holds.
func (p *treePieces) merge(g *regionGraph, holds func(root int32) bool) {
	merged := false
	p.label = scratch.Slice(p.label, len(g.label))
	for i, a := range g.label {
		p.label[i] = a
		if root := p.joined.Find(a); p.thin[a] && root != a && holds(root) {
			p.label[i] = root
			merged = true
		}
	}
	if merged {
		g.relabel(p.label, int32(g.numNodes()))
	}
}
