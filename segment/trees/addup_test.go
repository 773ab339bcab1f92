package trees_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// At leaves where two exchanges of other leaves add up, the links are in both of their regions.
func TestTwoExchangesAddUp(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	level := map[string]float32{} // by leaf: of the first exchange at leaves 0 to 4, and of the second at 3 to 7
	in := [2][]string{}
	for leaf := range 8 {
		name := fmt.Sprint("leaf0-", leaf)
		if leaf < 5 {
			level[name] += 24
			in[0] = append(in[0], name)
		}
		if leaf >= 3 {
			level[name] += 36
			in[1] = append(in[1], name)
		}
	}
	var wanted [2][]schema.LinkID
	values, _ := stalls.Where(g, func(l schema.LinkID, from, to *topology.Device) (float32, bool) {
		leaf := from.Name
		if level[leaf] == 0 || to.Kind == topology.Host {
			leaf = to.Name
		}
		if level[leaf] == 0 || to.Kind == topology.Host {
			return 0, false
		}
		for k := range in {
			if slices.Contains(in[k], leaf) {
				wanted[k] = append(wanted[k], l)
			}
		}
		return level[leaf], true
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.5, 1))
	isFound := func(links []schema.LinkID) bool {
		return slices.ContainsFunc(got, func(r schema.Region) bool { return slices.Equal(r.Links, links) })
	}
	if len(got) != 2 || !isFound(wanted[0]) || !isFound(wanted[1]) {
		t.Errorf("%d regions, not the two exchanges", len(got))
		for _, r := range got {
			t.Logf("%d links", r.Size)
		}
	}
}
