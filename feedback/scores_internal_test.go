package feedback

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
)

// Nodes are held for as long as the region that their score came from is silent.
func TestHeldNodes(t *testing.T) {
	silent := func(ids ...uint64) (list []schema.SilentRegion) {
		for _, id := range ids {
			list = append(list, schema.SilentRegion{ID: id, Since: 5})
		}
		return list
	}
	var of regionOfNode
	for i, step := range []struct {
		nodes  []score.Node
		silent []schema.SilentRegion
		held   []string
	}{
		{[]score.Node{{Node: "n1", Region: 1}, {Node: "n2", Region: 2}, {Node: "n3", Region: 3}}, nil, nil},
		{[]score.Node{{Node: "n2", Region: 4}}, silent(1, 2), []string{"n1", "n2"}}, // region 3 was measured as gone
		{nil, silent(1, 3), []string{"n1"}},
		{[]score.Node{{Node: "n1", Region: 5}}, nil, nil},
		{nil, silent(1), nil}, // its node has the score of another region now
	} {
		of = of.next(&score.Set{Nodes: step.nodes}, step.silent)
		var held []string
		for _, h := range of.held(step.silent, nodeMap{}) {
			if held = append(held, h.Node); h.SinceNanos != 5 {
				t.Errorf("step %d: %+v", i, h)
			}
		}
		if slices.Sort(held); !slices.Equal(held, step.held) {
			t.Errorf("step %d: held %v, want %v", i, held, step.held)
		}
	}
}
