package trees_test

import (
	"math"
	"math/rand"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
)

// What leaves a leaf over all spines belongs to the tree that explains all of it, though on each way alone shares differ so
// much that some look like the other tree's.
func TestWaysUpBelongToOneTreeTogether(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=12,hosts=12,spines=12")
	rng := rand.New(rand.NewSource(3))
	level := map[string]float64{"leaf0": 70, "leaf1": 35}
	tree := map[string]string{"leaf2": "leaf0", "leaf3": "leaf0", "leaf4": "leaf1", "leaf5": "leaf1"}
	values, down := stalls.Blank(g), map[string]float64{}
	owner := map[schema.LinkID]string{}
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		if from, to := g.Device(a).Name, g.Device(b).Name; level[to] > 0 && g.Device(a).Level == 2 {
			down[from+to] = level[to] * math.Exp(.15*rng.NormFloat64())
			values[l] = float32(down[from+to])
		}
	}
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		if from, to := g.Device(a).Name, g.Device(b).Name; tree[from] != "" && g.Device(b).Level == 2 {
			owner[schema.LinkID(l)] = tree[from]
			values[l] = float32(.6 * down[to+tree[from]] * math.Exp(.25*rng.NormFloat64()))
		}
	}
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	s := segmenttest.New(t, g, cfg)
	right := 0
	for _, r := range s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values.Noisy(.5, 1)})) {
		for _, l := range r.Links {
			switch {
			case owner[l] == "":
			case r.Root != nil && r.Root.Device == owner[l]:
				right++
			default:
				right--
			}
		}
	}
	if right < len(owner)*9/10 {
		t.Errorf("%d of %d ways up are right, less those that are in a wrong region", right, len(owner))
	}
}
