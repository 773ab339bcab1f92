package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Links down into a pod are not part of an exchange within the pod, although they stall as much; nor are the links
// upstream of them.
func TestWhatComesFromAboveIsNoneOfAPodsExchange(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	s := stalls.ByEnds{}
	for leaf := range 3 {
		name := fmt.Sprint("leaf0-", leaf)
		for agg := range 4 {
			above := fmt.Sprint("agg0-", agg)
			s[[2]string{name, above}], s[[2]string{above, name}] = 50, 50
		}
		for host := 4 * leaf; host < 4*leaf+4; host++ {
			s[[2]string{name, fmt.Sprint("host", host)}], s[[2]string{fmt.Sprint("host", host), name}] = 50, 50
		}
	}
	tree := stalls.ByEnds{{"leaf0-3", "host12"}: 36, {"agg0-0", "leaf0-3"}: 36}
	for core := range 4 {
		tree[[2]string{fmt.Sprint("core", core), "agg0-0"}] = 47
		tree[[2]string{"agg1-0", fmt.Sprint("core", core)}] = 46
	}
	for leaf := range 4 {
		tree[[2]string{fmt.Sprint("leaf1-", leaf), "agg1-0"}] = 45
	}
	got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.With(tree).On(t, g).Noisy(.5, 1)}))
	for _, r := range got {
		if r.Root != nil && r.Size == len(tree) {
			return
		}
	}
	t.Errorf("got %s, want one of %d links", segmenttest.Sizes(got), len(tree))
}
