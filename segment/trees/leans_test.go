package trees_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A tree is one region even if its senders push, so that the last links to the root wait least, and one of those has
// no value, so that what waits for it seems to wait for nothing.
func TestTreeIsOneWhateverItsTrunksSay(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, c := range []struct {
		name                   string
		trunk, upstream, hosts float32
		hidden                 string // aggregation switch whose trunk has no value
	}{
		{"stall falls upstream", 60, 40, 0, ""},
		{"stall falls upstream, a trunk is not known", 60, 40, 0, "agg0-1"},
		{"stall rises upstream", 40, 70, 95, ""},
		{"stall rises upstream, a trunk is not known", 60, 70, 95, "agg0-3"},
	} {
		values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case to.Name == "leaf0-2" && from.Level == 2 && from.Name == c.hidden:
				return linkset.Missing, false
			case to.Name == "leaf0-2" && from.Level == 2:
				return c.trunk, true
			case to.Group == 0 && to.Level == 2 && from.Name != "leaf0-2":
				return c.upstream, true
			case c.hosts > 0 && from.Level == 0 && to.Group == 0 && to.Name != "leaf0-2":
				return c.hosts, true
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("%s: regions of %s links, want one of %d", c.name, segmenttest.Sizes(got), len(want))
		} else if r := got[0].Root; r == nil || r.Device != "leaf0-2" {
			t.Errorf("%s: root %+v, want leaf0-2", c.name, r)
		}
	}
}

// A trunk that carries most of its root's rate stalls little, while what feeds it, and the hosts of the root's leaf, send
// almost nothing: one cause.
func TestBusyTrunkPartsNoTree(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=32,hosts=32,spines=16")
	const senders = 6 // of each leaf
	values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		isOf := func(leaf *topology.Device) bool {
			return slices.Contains([]string{"leaf3", "leaf12", "leaf13", "leaf30"}, leaf.Name)
		}
		switch {
		case from.Name == "leaf13" && to.Name == "host416":
			return 26, true
		case from.Name == "spine12" && to.Name == "leaf13":
			return 31, true
		case isOf(from) && from.Name != "leaf13" && to.Name == "spine12":
			return 80, true
		case from.Level == 0 && isOf(to) && from.Name != "host416" && hostNumber(from)%32 <= senders:
			return 96, true
		}
		return 0, false
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.7, 1))
	if len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Fatalf("regions of %s links, want one of %d", segmenttest.Sizes(got), len(want))
	}
	if r := got[0].Root; r == nil || r.Device != "leaf13" {
		t.Errorf("root %+v, want leaf13", r)
	}
}

func hostNumber(d *topology.Device) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(d.Name, "host"))
	return n
}

// A link down that reads zero beside stalled ones does not split a tree: traffic over its switch has no other path.
func TestFalseZeroPartsNoTree(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		switch {
		case from.Name == "agg0-3" && to.Name == "leaf0-2":
			return 0, false
		case from.Name == "leaf0-2" && to.Name == "host17":
			return 80, true
		case from.Level == 2 && to.Name == "leaf0-2":
			return 60, true
		case from.Level == 3 && to.Group == 0:
			return 40, true
		}
		return 0, false
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.7, 1))
	if len(got) != 1 || got[0].Size != len(want) {
		t.Errorf("%s, want one of %d", segmenttest.Sizes(got), len(want))
	}
}
