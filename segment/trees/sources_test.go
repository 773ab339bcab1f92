package trees_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// An exchange among leaves of two pods is one: links between the pods stall in one direction for each, but hosts of
// both wait for both.
func TestExchangeOfTwoPodsIsOne(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	isIn := func(d *topology.Device) bool {
		pod, _, _ := strings.Cut(strings.TrimLeft(d.Name, "aglef"), "-")
		return d.Level == 3 || (pod == "5" || pod == "11") && (d.Level == 2 || strings.HasSuffix(d.Name, "-1") || strings.HasSuffix(d.Name, "-4"))
	}
	var hosts []topology.DeviceID
	for l := range schema.LinkID(g.NumLinks()) {
		if from, to := g.Ends(l); g.Device(to).Level == 0 && g.Device(from).Level == 1 && isIn(g.Device(from)) {
			hosts = append(hosts, to)
		}
	}
	values, want := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (float32, bool) {
		sender, _ := g.Ends(id)
		if slices.Contains(hosts, sender) || from.Level > 0 && to.Level > 0 && isIn(from) && isIn(to) {
			return 24, true
		}
		return 0, false
	})
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(1, 1)); len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("%s, want one of %d links", segmenttest.Sizes(got), len(want))
	}
}

// Uplinks that stall alike in a pod, to switches beyond which nothing stalls, are an exchange: not part of a tree,
// though most of what leads to either is hosts that send to both.
func TestWaysUpBesideATreeAreTwo(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	var tree []schema.LinkID
	values, exchange := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, isExchange bool) {
		if from.Level == 0 && to.Group == 2 || from.Level == 1 && from.Group == 2 && to.Level == 2 {
			percent, isExchange = 20, true
		}
		switch {
		case from.Name == "leaf2-3" && to.Name == "host152":
			percent, tree = 60, append(tree, id)
		case from.Name == "agg2-5" && to.Name == "leaf2-3":
			percent, tree = 50, append(tree, id)
		case from.Level == 1 && from.Name != "leaf2-3" && to.Name == "agg2-5":
			percent, tree = percent+40, append(tree, id)
		case from.Level == 0 && (to.Name == "leaf2-0" || to.Name == "leaf2-6"):
			percent, tree = percent+20, append(tree, id)
		}
		return percent, isExchange
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.7, 1))
	isStray := func(l schema.LinkID) bool { return !slices.Contains(exchange, l) }
	if len(got) != 2 || !slices.Equal(got[1].Links, tree) || got[0].Size < len(exchange)-len(tree) || slices.ContainsFunc(got[0].Links, isStray) {
		t.Errorf("%s, want %d, of which the tree may hide those that are both, and %d links", segmenttest.Sizes(got), len(exchange), len(tree))
	}
}
