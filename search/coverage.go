package search

import (
	"math/rand/v2"
	"slices"
)

// Interaction coverage: which conjunctions of conditions the healthy experiments have
// ruled out. A condition is a bound of an ordered dimension, of the smallest or the largest
// message of a pattern, or a value of a dimension without order; a conjunction is ruled
// out when one healthy experiment meets all of its conditions. An anomaly that is still
// unknown is none of these (a t-way covering array asks for the same with every
// conjunction of t conditions).

// levels that the values of an ordered dimension are counted in, at most.
const levels = 16

// coverage of the healthy experiments.
type coverage struct {
	axes  []axis
	of    [][]int // of each dimension, its axes: two of a pattern
	count int     // experiments
}

// axis is one figure of a workload: below[l] are the experiments at level l or lower, or
// of a dimension without order those with value l.
type axis struct {
	ordered bool
	values  int
	below   [][]uint64
}

func newCoverage(dims []Dimension) *coverage {
	c := &coverage{}
	for i := range dims {
		d := &dims[i]
		n, figures := len(d.Values), 1
		if d.hasOrder() {
			n = min(n, levels)
		}
		if d.Pattern {
			figures = 2
		}
		c.of = append(c.of, nil)
		for range figures {
			c.of[i] = append(c.of[i], len(c.axes))
			c.axes = append(c.axes, axis{d.hasOrder(), len(d.Values), make([][]uint64, n)})
		}
	}
	return c
}

// level of an index.
func (a *axis) level(i int) int {
	if a.values <= len(a.below) {
		return i
	}
	return i * len(a.below) / a.values
}

// figure of a point on an axis of a dimension: of a pattern the smallest and the largest.
func figure(at []int, k, axes int) int {
	switch {
	case axes == 1:
		return at[0]
	case k == 0:
		return slices.Min(at)
	}
	return slices.Max(at)
}

// add takes in a healthy experiment.
func (c *coverage) add(p point) {
	word, bit := c.count/64, uint64(1)<<(c.count%64)
	c.count++
	for d, at := range p {
		for k, x := range c.of[d] {
			a := &c.axes[x]
			l := a.level(figure(at, k, len(c.of[d])))
			for i := range a.below {
				if len(a.below[i]) <= word {
					a.below[i] = append(a.below[i], 0)
				}
				if i == l || a.ordered && i > l {
					a.below[i][word] |= bit
				}
			}
		}
	}
}

// term is a set of experiments: in, without out.
type term struct{ in, out []uint64 }

// ruledOut reports whether one experiment is in all terms.
func (c *coverage) ruledOut(terms []term) bool {
	for w := range (c.count + 63) / 64 {
		all := ^uint64(0)
		if w == c.count/64 {
			all = uint64(1)<<(c.count%64) - 1
		}
		for _, t := range terms {
			if t.in != nil {
				all &= t.in[w]
			}
			if t.out != nil {
				all &^= t.out[w]
			}
		}
		if all != 0 {
			return true
		}
	}
	return false
}

// condition draws a random one that a coordinate meets, with the chance that it does.
func (c *coverage) condition(terms []term, d int, at []int, r *rand.Rand) ([]term, float64) {
	of := c.of[d]
	if len(of) == 2 && r.IntN(3) == 0 { // a mix
		terms, one := c.bound(terms, of[0], slices.Min(at), false, r)
		terms, two := c.bound(terms, of[1], slices.Max(at), true, r)
		return terms, one * two
	}
	k := r.IntN(len(of))
	x := &c.axes[of[k]]
	l := figure(at, k, len(of))
	if !x.ordered {
		return append(terms, term{in: x.below[l]}), 1
	}
	return c.bound(terms, of[k], l, r.IntN(2) == 0, r)
}

// bound is a random one, from below or above, that an index meets.
func (c *coverage) bound(terms []term, x, index int, above bool, r *rand.Rand) ([]term, float64) {
	a := &c.axes[x]
	l, n := a.level(index), len(a.below)
	if n == 1 {
		return terms, 0
	}
	if above {
		if l == 0 {
			return terms, 0
		}
		t := 1 + r.IntN(l)
		return append(terms, term{out: a.below[t-1]}), float64(l) / float64(n-1)
	}
	if l == n-1 {
		return terms, 0
	}
	t := l + r.IntN(n-1-l)
	return append(terms, term{in: a.below[t]}), float64(n-1-l) / float64(n-1)
}

// novelty is how much of what was not ruled out a point would meet, up to a factor: of
// random conjunctions of the dimensions of each group.
func (c *coverage) novelty(p point, groups [][]int, r *rand.Rand) float64 {
	sum := 0.
	var terms []term
	for _, g := range groups {
		weight := 1.
		terms = terms[:0]
		for _, d := range g {
			var w float64
			terms, w = c.condition(terms, d, p[d], r)
			if weight *= w; weight == 0 {
				break
			}
		}
		if weight > 0 && !c.ruledOut(terms) {
			sum += weight
		}
	}
	return sum
}
