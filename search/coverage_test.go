package search

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// coveredSpace has a dimension of every kind, one with more values than levels.
func coveredSpace(t *testing.T) *Space {
	t.Helper()
	many := make([]Value, 3*levels)
	for i := range many {
		many[i] = Number(float64(i))
	}
	space, err := NewSpace([]Dimension{{Name: "kind", Values: []Value{Text("a"), Text("b"), Text("c")}}, {Name: "one", Ordered: true, Values: many[:1]},
		{Name: "few", Ordered: true, Values: many[:4]}, {Name: "many", Ordered: true, Values: many}, {Name: "sizes", Pattern: true, MaxLength: 3, Values: many[:6]}})
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// A conjunction that one healthy experiment meets is ruled out, and no other: against a list of experiments that is
// gone through one by one.
func TestCoverageAgainstAList(t *testing.T) {
	space := coveredSpace(t)
	r := rand.New(rand.NewPCG(1, 2))
	c := newCoverage(space.dims)
	var list []point
	ruled, not := 0, 0
	for n := range 130 {
		p := space.random(r)
		c.add(p)
		list = append(list, p)
		if n > 8 && n%16 > 0 && n != 63 && n != 64 {
			continue
		}
		for range 40 {
			asked := space.random(r)
			f := newMFS(space)
			var terms []term
			for d := range asked {
				if r.IntN(5) == 0 {
					continue
				}
				before := len(terms)
				var share float64
				if terms, share = c.condition(terms, d, asked[d], r); share == 0 {
					terms = terms[:before]
					continue
				}
				f.conds[d] = conditionOf(c, d, terms[before:])
			}
			want := slices.ContainsFunc(list, func(p point) bool { return levelled(c, space, f, p) })
			if got := c.ruledOut(terms); got != want {
				text, _ := json.Marshal(f)
				t.Fatalf("after %d experiments %s is ruled out: %v, want %v", n+1, text, got, want)
			}
			if want {
				ruled++
			} else {
				not++
			}
		}
	}
	if ruled < 50 || not < 50 {
		t.Errorf("%d conjunctions were ruled out and %d were not: the test asks too little", ruled, not)
	}
}

// conditionOf finds, among the levels of a dimension, the bounds that terms stand for.
func conditionOf(c *coverage, d int, terms []term) (cond condition) {
	for _, t := range terms {
		for k, x := range c.of[d] {
			a := &c.axes[x]
			for l := range a.below {
				s := span{0, len(a.below) - 1}
				switch {
				case t.in != nil && &t.in[0] == &a.below[l][0] && !a.ordered:
					cond.in = []int{l}
					continue
				case t.in != nil && &t.in[0] == &a.below[l][0]:
					s.hi = l
				case t.out != nil && &t.out[0] == &a.below[l][0]:
					s.lo = l + 1
				default:
					continue
				}
				cond.any = append(cond.any, s, span{k, k})
			}
		}
	}
	return cond
}

// levelled reports whether a point meets bounds that are of levels: pairs of a span and the figure it is of.
func levelled(c *coverage, space *Space, f *MFS, p point) bool {
	for d := range space.dims {
		cond := &f.conds[d]
		if cond.free {
			continue
		}
		if cond.in != nil && cond.in[0] != p[d][0] {
			return false
		}
		for i := 0; i < len(cond.any); i += 2 {
			k := cond.any[i+1].lo
			if !cond.any[i].holds(c.axes[c.of[d][k]].level(figure(p[d], k, len(c.of[d])))) {
				return false
			}
		}
	}
	return true
}

// A workload that was measured has nothing new; one with another value of everything has.
func TestNoveltyEndsWithTheMeasurement(t *testing.T) {
	space := coveredSpace(t)
	r := rand.New(rand.NewPCG(3, 4))
	c := newCoverage(space.dims)
	groups := slices.Repeat([][]int{{0, 2}, {0, 3, 4}, {2, 3}}, 20)
	p := point{{1}, {0}, {3}, {40}, {5, 0}}
	if c.novelty(p, groups, r) == 0 {
		t.Error("before the first experiment nothing is new")
	}
	c.add(p)
	if v := c.novelty(p, groups, r); v != 0 {
		t.Errorf("a workload that was measured has a novelty of %g", v)
	}
	if c.novelty(point{{0}, {0}, {0}, {0}, {2}}, groups, r) == 0 {
		t.Error("the opposite of all that was measured is not new")
	}
}
