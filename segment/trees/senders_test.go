package trees_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A tree stalls the uplinks of some leaves of an exchange more than the exchange does: that is no exchange of their own.
func TestLeavesOfAnExchangeThatATreeStallsMore(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=12,hosts=12,spines=8")
	values := stalls.Blank(g)
	exchange := []string{"leaf2", "leaf3", "leaf4", "leaf5", "leaf6"}
	var want []schema.LinkID
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		from, to := g.Device(a).Name, g.Device(b).Name
		switch isUp := g.Device(b).Level == 2; {
		case isUp && slices.Contains(exchange, from), g.Device(a).Level == 2 && slices.Contains(exchange, to):
			values[l] = 15
			want = append(want, schema.LinkID(l))
			if isUp && (from == "leaf2" || from == "leaf3") {
				values[l] = 45
			}
		case g.Device(a).Level == 2 && to == "leaf0":
			values[l] = 70
		}
	}
	values[linksOf(g, "leaf0")[0][0]] = 72
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	got := segmenttest.New(t, g, cfg).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values.Noisy(.3, 1)}))
	if !slices.ContainsFunc(got, func(r schema.Region) bool { return slices.Equal(r.Links, want) }) {
		t.Errorf("got %s, none of which is the exchange of %d links", segmenttest.Sizes(got), len(want))
	}
}

// linksOf lists the links from a leaf to hosts, and from hosts to it.
func linksOf(g *topology.Graph, leaf string) (links [2][]schema.LinkID) {
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		switch {
		case g.Device(a).Name == leaf && !g.IsSwitch(b):
			links[0] = append(links[0], l)
		case g.Device(b).Name == leaf && !g.IsSwitch(a):
			links[1] = append(links[1], l)
		}
	}
	return links
}
