package trees_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Two trees stall all uplinks of their leaves about equally, but hosts wait for one of them only, as at its root's leaf: they
// tell which leaves send into which, also where there are so many leaves that only some are fitted first.
func TestHostsTellWhichTreeALeafSendsInto(t *testing.T) {
	testHostsTellWhichTree(t, 12, 0)
	testHostsTellWhichTree(t, 150, 6)
}

// testHostsTellWhichTree has the leaves of one tree stall by so many points lower.
func testHostsTellWhichTree(t *testing.T, leaves int, lower float32) {
	t.Helper()
	g := stalls.Fabric(t, fmt.Sprintf("fattree:leaves=%d,hosts=12,spines=8", leaves))
	sendsTo := map[string]string{}
	for k := range leaves / 4 {
		sendsTo[fmt.Sprint("leaf", 2+k)], sendsTo[fmt.Sprint("leaf", 2+leaves/4+k)] = "leaf0", "leaf1"
	}
	values, owner := stalls.Blank(g), map[schema.LinkID]string{}
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		from, to := g.Device(a).Name, g.Device(b).Name
		switch {
		case g.Device(a).Level == 2 && (to == "leaf0" || to == "leaf1"):
			values[l] = 60
		case g.Device(b).Level == 2 && sendsTo[from] != "":
			values[l], owner[schema.LinkID(l)] = 40, sendsTo[from]
			if sendsTo[from] == "leaf1" {
				values[l] -= lower
			}
		case !g.IsSwitch(a) && sendsTo[to] == "leaf0" && l%4 == 0: // half of the hosts
			values[l], owner[schema.LinkID(l)] = 30, "leaf0"
		}
	}
	for _, leaf := range []string{"leaf0", "leaf1"} {
		at := linksOf(g, leaf)
		values[at[0][0]] = 62 // to the receiver
		for _, l := range at[1][1:5] {
			if leaf == "leaf0" {
				values[l] = 58
			}
		}
	}
	if right := rightLess(t, g, values.Noisy(.5, 1), owner); right < len(owner)*9/10 {
		t.Errorf("%d leaves: %d of %d links are right, less those that are in a wrong region", leaves, right, len(owner))
	}
}

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

// rightLess counts the links in the region whose root is at their owner, less those in other regions.
func rightLess(t *testing.T, g *topology.Graph, values stalls.Painting, owner map[schema.LinkID]string) (right int) {
	t.Helper()
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	for _, r := range segmenttest.New(t, g, cfg).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})) {
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
	return right
}
