package plans_test

import (
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
	"github.com/giverny/giverny/collective/plans/planstest"
)

// After the steps of an all-reduce every member has every member's part: knowledge
// flows along the transfers in step order. Nothing awaits a later step.
func TestDecomposeMovesTheData(t *testing.T) {
	for _, s := range planstest.Shapes() {
		p, err := plans.Decompose(s)
		if err != nil {
			t.Fatal(err)
		}
		know := make([]map[int]bool, s.Members)
		for i := range know {
			know[i] = map[int]bool{i: true}
		}
		for step := 1; step <= p.Steps; step++ {
			arrive := map[int][]int{}
			for m, list := range p.Members {
				for _, x := range list {
					if x.AwaitsStep != collective.None && (x.AwaitsStep >= x.Step || x.AwaitsRank == m) {
						t.Fatalf("%+v: member %d: %+v awaits itself or what comes later", s, m, x)
					}
					if x.Step == step && x.Chunk == 0 && (s.Algorithm != collective.DoubleTree || x.Channel < 2) {
						for k := range know[m] {
							arrive[x.Peer] = append(arrive[x.Peer], k)
						}
					}
				}
			}
			for m, parts := range arrive {
				for _, k := range parts {
					know[m][k] = true
				}
			}
		}
		for m := range know {
			want := s.Members
			if s.Operation == collective.Broadcast {
				want = 1 // the root's
			} else if s.Operation == collective.Reduce && m > 0 {
				continue
			}
			if len(know[m]) < want || s.Operation == collective.Broadcast && !know[m][0] {
				t.Errorf("%+v: member %d has the data of %d", s, m, len(know[m]))
			}
		}
	}
}

func TestDecomposeRefuses(t *testing.T) {
	for _, s := range []plans.Shape{
		{Operation: collective.AllToAll, Algorithm: collective.Ring, Members: 4}, {Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 1},
		{Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 1 << 16}, {Operation: collective.AllReduce, Algorithm: "star", Members: 4},
	} {
		if _, err := plans.Decompose(s); err == nil {
			t.Errorf("%+v is taken apart", s)
		}
	}
}
