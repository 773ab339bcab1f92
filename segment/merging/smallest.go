package merging

import (
	"math"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// smallest finds from how many links a segment of fewer than Config.MinLinks may be a region: from as many as the smaller
// groups of the same snapshot do not reach by chance. Noise and normal load make links hot one by one or a few together. On
// a small or calm fabric such groups are few and short, and a congestion tree of five links stands out; on a large one under
// load there are many, some of eight links, and only a larger tree does.
type smallest struct {
	neighbours float64           // that a link has on average
	together   linkset.UnionFind // nodes
	links      []int32           // by root of together
	label      []int32           // by candidate
	sizes      []int32           // by size: nodes of fewer links than Config.MinLinks
}

const (
	intervalsPerDay = 1440
	// fewestLinks is the size of the smallest region, whatever chance allows: that of the smallest tree on directed links.
	fewestLinks = 4
	// priorLinks is how many observed links the assumption is worth that links are hot independently of each other.
	priorLinks = 10
)

func newSmallest(adj *linkset.Adjacency) smallest {
	pairs := 0
	for s := range int32(adj.NumSwitches()) {
		d := len(adj.Links(s))
		pairs += d * (d - 1)
	}
	return smallest{neighbours: float64(pairs) / float64(max(1, adj.NumLinks()))}
}

// join makes one node of touching nodes that have fewer than minLinks links in all: they are too few to be cut.
func (s *smallest) join(g *regionGraph, minLinks int32) {
	n := int32(g.numNodes())
	s.together.Reset(int(n))
	for a := int32(1); a < n; a++ {
		for _, e := range g.edges.of(a) {
			if e.to > a {
				s.together.Union(a, e.to)
			}
		}
	}
	s.links = scratch.Slice(s.links, int(n))
	clear(s.links)
	for a := int32(1); a < n; a++ {
		s.links[s.together.Find(a)] += g.size[a]
	}
	merged := false
	s.label = scratch.Slice(s.label, len(g.label))
	for i, a := range g.label {
		s.label[i] = a
		if root := s.together.Find(a); a != root && s.links[root] < minLinks {
			s.label[i] = root
			merged = true
		}
	}
	if merged {
		g.relabel(s.label, n)
	}
}

// least is the size from which a node may be a region, at most minLinks. hot is the number of hot links, of which those in
// no node are alone. Sizes are tested in ascending order, each against the groups of fewer links, so that regions do not
// count as chance for each other.
func (s *smallest) least(g *regionGraph, hot, links int, minLinks int32, falsePerDay float64) int {
	s.sizes = scratch.Slice(s.sizes, int(minLinks))
	clear(s.sizes)
	alone := float64(hot)
	for _, size := range g.size[1:] {
		alone -= float64(size)
		if size < minLinks {
			s.sizes[size]++
		}
	}
	c := newChance(max(0, alone), s.neighbours/float64(links))
	for k := 2; k < int(minLinks); k++ {
		if s.sizes[k] > 0 && k >= fewestLinks && c.groups(k) <= falsePerDay/intervalsPerDay {
			return k
		}
		c.add(float64(s.sizes[k]), k)
	}
	return int(minLinks)
}

// chance is how often hot links are together in a snapshot. A hot link is one of a pair with probability pair if all are hot
// independently, and each further link of a group follows with the same probability: sizes are geometrically distributed.
// Normal load is not independent, so the probability is estimated from the groups that there are, with independence as the
// prior. Counts are used with one standard error on top.
type chance struct {
	pair          float64
	pairs         float64 // expected number of pairs if all are independent
	spots, beyond float64 // groups of two links and more; their links beyond two
}

// newChance is for some links that are hot alone. The chance that a link is near one of them is near for each.
func newChance(alone, near float64) chance {
	n := 1 + alone + math.Sqrt(alone)
	pair := min(1, n*near)
	return chance{pair: pair, pairs: n * pair}
}

// add counts groups of k links.
func (c *chance) add(groups float64, k int) {
	c.spots += groups
	c.beyond += groups * float64(k-2)
}

// groups is the expected number of groups of k links or more in a snapshot.
func (c *chance) groups(k int) float64 {
	beyond := c.beyond
	if c.spots > 0 {
		beyond += math.Sqrt(max(1, c.beyond))
	}
	further := (beyond + priorLinks*c.pair) / (beyond + c.spots + priorLinks)
	return (c.pairs + c.spots + math.Sqrt(c.spots)) * math.Pow(further, float64(k-2))
}
