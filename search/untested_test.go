package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// searchOf makes a search of a space with dimensions of all kinds.
func searchOf(t interface{ Fatal(...any) }, seed uint64) *Search {
	numbers := func(n int) (list []Value) {
		for i := range n {
			list = append(list, Number(float64(i)))
		}
		return list
	}
	d := Description{Name: "all kinds", LineRateGbps: 100, MessageRateMpps: 100, Dimensions: []Dimension{
		{Name: "pattern", Pattern: true, MaxLength: 3, Values: numbers(6)},
		{Name: "kind", Values: []Value{Text("a"), Text("b"), Text("c")}},
		{Name: "only", Values: numbers(1)},
	}}
	for n := 2; n <= 9; n++ {
		d.Dimensions = append(d.Dimensions, Dimension{Name: fmt.Sprint("size", n), Ordered: true, Values: numbers(n)})
	}
	space, err := NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(d, space, Config{Algorithm: Lift, Budget: 1000, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The healthy experiments that meet a conjunction are those that meet each condition;
// and the point it was made for meets it.
func TestHealthyExperimentsRuleOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := searchOf(t, rapid.Uint64().Draw(t, "seed"))
		defer s.Close()
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "points"), 0))
		var points []point
		for range rapid.IntRange(0, 200).Draw(t, "healthy") {
			points = append(points, s.space.random(rnd))
			s.healthy.add(points[len(points)-1])
		}
		chance := make([]float64, len(s.space.dims))
		for d := range chance {
			chance[d] = .3
		}
		meets := func(p point, list []conjunct) bool {
			return !slices.ContainsFunc(list, func(c conjunct) bool { return !c.holds(s.space.dims[c.dim].valueOrBin(p[c.dim])) })
		}
		p, list := s.conjunction(s.space.random(rnd), chance)
		if !meets(p, list) {
			t.Fatalf("%v does not meet its own conjunction %v", p, list)
		}
		want := slices.ContainsFunc(points, func(q point) bool { return meets(q, list) })
		if got := s.healthy.meets(list); got != want {
			t.Fatalf("conjunction %v of %d points: met %v, want %v", list, len(points), got, want)
		}
	})
}

// A conjunction left out by healthy experiments is proposed: two values in the middle
// of dimensions, which no draw has.
func TestLeftOutIsProposed(t *testing.T) {
	s := searchOf(t, 1)
	defer s.Close()
	d := slices.IndexFunc(s.space.dims, func(d Dimension) bool { return len(d.Values) == 9 })
	leftOut := span{4, 5}
	draw := func() point {
		for {
			if p := s.space.random(s.rnd); !leftOut.holds(p[d][0]) {
				return p
			}
		}
	}
	for range 10000 {
		s.healthy.add(draw())
	}
	const proposals = 100
	in := 0
	for range proposals {
		if leftOut.holds(s.untested(draw)[d][0]) {
			in++
		}
	}
	if in < proposals/4 {
		t.Errorf("%d of %d proposals have a value that no experiment had", in, proposals)
	}
}
