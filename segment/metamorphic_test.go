package segment_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// moved maps a torus to itself, switch by switch.
func moved(name string, g *topology.Graph, where func(c []int) []int) segmenttest.Renaming {
	grid := g.Grid()
	byEnds := map[[2]topology.DeviceID]schema.LinkID{}
	for id := range schema.LinkID(g.NumLinks()) {
		from, to := g.Ends(id)
		byEnds[[2]topology.DeviceID{from, to}] = id
		byEnds[[2]topology.DeviceID{to, from}] = id
	}
	at := func(d topology.DeviceID) topology.DeviceID {
		c := where(slices.Clone(g.Device(d).Coord))
		for i, n := range grid.Dims {
			c[i] = (c[i]%n + n) % n
		}
		return topology.DeviceID(grid.Number(c))
	}
	r := segmenttest.Renaming{Name: name, Graph: g, To: make([]schema.LinkID, g.NumLinks())}
	for id := range r.To {
		from, to := g.Ends(schema.LinkID(id))
		r.To[id] = byEnds[[2]topology.DeviceID{at(from), at(to)}]
	}
	return r
}

// renamings are equivalent views of a fabric.
func renamings(t testing.TB, g *topology.Graph) []segmenttest.Renaming {
	out := []segmenttest.Renaming{segmenttest.Renumbered(t, g, 1)}
	if g.Grid() != nil {
		out = append(out,
			moved("shifted", g, func(c []int) []int { return []int{c[0] + 5, c[1] - 7, c[2] + 11} }),
			moved("mirrored", g, func(c []int) []int { return []int{-c[0], c[1], -c[2]} }),
			moved("turned", g, func(c []int) []int { return []int{c[2], c[0], c[1]} }))
	}
	return out
}

// The regions of a fabric are exactly the same however it is numbered, shifted,
// mirrored or rotated.
func TestRegionsDoNotDependOnNumbers(t *testing.T) {
	graphs := map[string]*topology.Graph{}
	others := map[string][]segmenttest.Renaming{}
	for _, k := range segmenttest.Kinds() {
		if k.Name == "statistical" { // overlap starts from the same segments
			continue
		}
		segmenters := map[string][]*segment.Segmenter{}
		for _, set := range setsOf(t, k) {
			spec := stalls.Smaller(set.Topology)
			if graphs[spec] == nil {
				graphs[spec] = stalls.Fabric(t, spec)
				others[spec] = renamings(t, graphs[spec])
			}
			if segmenters[spec] == nil {
				segmenters[spec] = append(segmenters[spec], segmenttest.New(t, graphs[spec], k.Config))
				for _, r := range others[spec] {
					segmenters[spec] = append(segmenters[spec], segmenttest.New(t, r.Graph, k.Config))
				}
			}
			checkRenamings(t, graphs[spec], set, k.Name, others[spec], segmenters[spec])
		}
	}
}

// The same on small fabrics of every kind, largely covered by patches.
func TestRegionsOfSmallFabricsDoNotDependOnNumbers(t *testing.T) {
	for _, spec := range []string{"torus:4x5x6", "torus:2x3x4", "mesh:6x7", "torus:30", "fattree:leaves=4,hosts=3,spines=3", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := stalls.Fabric(t, spec)
		r := segmenttest.Renumbered(t, g, 2)
		for _, k := range segmenttest.Kinds() {
			cfg := k.Config
			cfg.MinLinks = 4
			one, other := segmenttest.New(t, g, cfg), segmenttest.New(t, r.Graph, cfg)
			rng := rand.New(rand.NewSource(4))
			for i := range 50 {
				snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: stalls.PatchyValues(rng, g)})
				want := r.Regions(one.Step(snap))
				if got := segmenttest.Described(other.Step(r.Snapshot(snap))); !slices.Equal(got, want) {
					t.Errorf("%s, %s, snapshot %d: %s", spec, k.Name, i, segmenttest.Difference(got, want))
				}
			}
		}
	}
}

// checkRenamings compares the results of the first segmenter with those of the others
// on the renumbered fabrics.
func checkRenamings(t *testing.T, g *topology.Graph, set bench.Set, method string, others []segmenttest.Renaming, segmenters []*segment.Segmenter) {
	snap := set.Sample(g, 1).Snapshot
	found := segmenters[0].Step(snap)
	for i, r := range others {
		got := segmenttest.Described(segmenters[i+1].Step(r.Snapshot(snap)))
		if want := r.Regions(found); !slices.Equal(got, want) {
			t.Errorf("%s, %s, %s: %s", set.Name, method, r.Name, segmenttest.Difference(got, want))
		}
	}
}

// setsOf are the sets a method is tested on; fewer for the paper's, which is slow and
// has no tuned parameters.
func setsOf(t testing.TB, k segmenttest.Kind) []bench.Set {
	if k.Config.Method == segment.Paper {
		return []bench.Set{setNamed(t, "torus"), setNamed(t, "hard"), setNamed(t, "fattree")}
	}
	return bench.Sets()
}

func setNamed(t testing.TB, name string) bench.Set {
	t.Helper()
	sets := bench.Sets()
	i := slices.IndexFunc(sets, func(s bench.Set) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no set %q", name)
	}
	return sets[i]
}

// The order of the series, and the time and length of the interval, do not matter.
func TestRegionsDoNotDependOnOrderOrTime(t *testing.T) {
	for _, name := range []string{"torus", "fattree"} {
		set := setNamed(t, name)
		g := stalls.Fabric(t, stalls.Smaller(set.Topology))
		snap := set.Sample(g, 0).Snapshot
		swapped := *snap
		swapped.Series = slices.Clone(snap.Series)
		slices.Reverse(swapped.Series)
		later := *snap
		later.Interval = schema.Interval{StartNanos: 86400e9, DurationNanos: 1e9}
		for _, k := range segmenttest.Kinds() {
			s := segmenttest.New(t, g, k.Config)
			want := segmenttest.Described(s.Step(snap))
			for name, other := range map[string]*schema.Snapshot{"series in another order": &swapped, "another interval": &later} {
				if got := segmenttest.Described(s.Step(other)); !slices.Equal(got, want) {
					t.Errorf("%s, %s, %s: %s", set.Name, k.Name, name, segmenttest.Difference(got, want))
				}
			}
		}
	}
}

// Values that were not measured do not matter.
func TestRegionsDoNotDependOnMissingValues(t *testing.T) {
	for _, name := range []string{"hard", "fattree"} { // with missing values
		set := setNamed(t, name)
		g := stalls.Fabric(t, stalls.Smaller(set.Topology))
		snap := set.Sample(g, 0).Snapshot
		other := *snap
		other.Series = slices.Clone(snap.Series)
		for i := range other.Series {
			s := &other.Series[i]
			s.Values = slices.Clone(s.Values)
			for l := range s.Values {
				if !s.Valid.Has(l) {
					s.Values[l] = []float32{100, float32(math.NaN()), -5}[l%3]
				}
			}
		}
		for _, k := range segmenttest.Kinds() {
			s := segmenttest.New(t, g, k.Config)
			want := segmenttest.Described(s.Step(snap))
			if got := segmenttest.Described(s.Step(&other)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %s", set.Name, k.Name, segmenttest.Difference(got, want))
			}
		}
	}
}
