package segment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A tree is one region where its senders push, so that the last links to the root wait least, and where one of those has
// no value, so that what waits for it seems to wait for nothing.
func TestTreeIsOneWhateverItsTrunksSay(t *testing.T) {
	g := parse(t, "fattree:k=8")
	for _, c := range []struct {
		name                   string
		trunk, upstream, hosts float32
		hidden                 string // aggregation switch of which the trunk has no value
	}{
		{"stall falls upstream", 60, 40, 0, ""},
		{"stall falls upstream, a trunk is not known", 60, 40, 0, "agg0-1"},
		{"stall rises upstream", 40, 70, 95, ""},
		{"stall rises upstream, a trunk is not known", 60, 70, 95, "agg0-3"},
	} {
		values := blank(g)
		var want []schema.LinkID
		for l := range values {
			id := schema.LinkID(l)
			a, b := g.Ends(id)
			from, to := g.Device(a), g.Device(b)
			switch {
			case to.Name == "leaf0-2" && from.Level == 2 && from.Name == c.hidden:
				values[l] = missing
				continue
			case to.Name == "leaf0-2" && from.Level == 2:
				values[l] = c.trunk
			case to.Group == 0 && to.Level == 2 && from.Name != "leaf0-2":
				values[l] = c.upstream
			case c.hosts > 0 && from.Level == 0 && to.Group == 0 && to.Name != "leaf0-2":
				values[l] = c.hosts
			default:
				continue
			}
			want = append(want, id)
		}
		s := newSegmenter(t, g, DefaultConfig())
		got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values.noisy(.7, 1)}))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("%s: regions of %s links, want one of %d", c.name, sizes(got), len(want))
		} else if r := got[0].Root; r == nil || r.Device != "leaf0-2" {
			t.Errorf("%s: root %+v, want leaf0-2", c.name, r)
		}
	}
}

// A reading of zero ahead of what stalls nearly always is no zero: a port that is full, but does not stall since it sends all
// the time, would let more of it pass.
func TestTreeIsOneWhereAReadingIsNoZero(t *testing.T) {
	g := parse(t, "fattree:k=16")
	for _, c := range []struct {
		hosts   float32 // stall of those behind the zero
		regions int
	}{{97, 1}, {55, 2}} {
		values := blank(g)
		hidden, behind := linkNamed(t, g, "leaf3-0", "agg3-1"), 0
		for l := range values {
			a, b := g.Ends(schema.LinkID(l))
			from, to := g.Device(a), g.Device(b)
			isAway := from.Level < to.Level && from.Group > 0
			switch {
			case schema.LinkID(l) == hidden:
			case from.Name == "agg0-1" && to.Name == "leaf0-2", from.Level == 3 && to.Name == "agg0-1":
				values[l] = 90
			case isAway && from.Level == 2 && from.Name == fmt.Sprintf("agg%d-1", from.Group), isAway && from.Level == 1 && to.Name == fmt.Sprintf("agg%d-1", to.Group):
				values[l] = 92
			case from.Level == 0 && to.Name == "leaf3-0":
				values[l] = c.hosts
				behind++
			case from.Level == 0 && to.Group > 0:
				values[l] = 95
			}
		}
		s := newSegmenter(t, g, DefaultConfig())
		got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values.noisy(.7, 1)}))
		if len(got) != c.regions {
			t.Errorf("%d hosts at %v%%: %s, want %d regions", behind, c.hosts, sizes(got), c.regions)
		}
	}
}

// A link down that reads zero beside others that stall parts no tree and is of it: what comes over its switch has no other way.
func TestFalseZeroPartsNoTree(t *testing.T) {
	g := parse(t, "fattree:k=16")
	values := blank(g)
	want := 0
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		from, to := g.Device(a), g.Device(b)
		switch {
		case from.Name == "agg0-3" && to.Name == "leaf0-2":
			values[l] = 0 // it is of the tree all the same
		case from.Name == "leaf0-2" && to.Name == "host17":
			values[l] = 80
		case from.Level == 2 && to.Name == "leaf0-2":
			values[l] = 60
		case from.Level == 3 && to.Group == 0:
			values[l] = 40
		default:
			continue
		}
		want++
	}
	s := newSegmenter(t, g, overlapping())
	got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values.noisy(.7, 1)}))
	if len(got) != 1 || got[0].Size != want {
		t.Errorf("%s, want one of %d", sizes(got), want)
	}
}
