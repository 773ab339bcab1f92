package stalls

import (
	"maps"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TwoLevels is a two-level fat tree.
const TwoLevels = "fattree:leaves=8,hosts=8,spines=4"

// SeventeenGroups is a dragonfly.
const SeventeenGroups = "dragonfly:groups=17,routers=8,hosts=4"

// ByEnds maps the names of a link's ends to its stall in percent.
type ByEnds map[[2]string]float32

// On paints the stalls on a fabric with only a little noise.
func (s ByEnds) On(t *testing.T, g *topology.Graph) Painting {
	t.Helper()
	values := Blank(g).Noisy(.3, 1)
	for ends, percent := range s {
		values[LinkNamed(t, g, ends[0], ends[1])] = percent
	}
	return values
}

// With merges others in; a link's last value counts.
func (s ByEnds) With(others ByEnds) ByEnds {
	both := ByEnds{}
	for _, from := range [2]ByEnds{s, others} {
		maps.Copy(both, from)
	}
	return both
}

// LinkNamed returns the link between two devices.
func LinkNamed(t *testing.T, g *topology.Graph, from, to string) schema.LinkID {
	t.Helper()
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		if g.Device(a).Name == from && g.Device(b).Name == to {
			return l
		}
	}
	t.Fatalf("no link from %s to %s", from, to)
	return 0
}

// Plus adds the stalls of both.
func (s ByEnds) Plus(other ByEnds) ByEnds {
	sum := s.With(other)
	for ends, percent := range s {
		if _, isBoth := other[ends]; isBoth {
			sum[ends] += percent
		}
	}
	return sum
}

// Except leaves out the links that others have, too.
func (s ByEnds) Except(others ByEnds) ByEnds {
	rest := maps.Clone(s)
	maps.DeleteFunc(rest, func(ends [2]string, _ float32) bool { _, has := others[ends]; return has })
	return rest
}
