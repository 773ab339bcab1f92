package segment

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/topology"
)

// renaming is a fabric that is another one under other numbers: to[l] is what
// link l is called there.
type renaming struct {
	name  string
	graph *topology.Graph
	to    []schema.LinkID
}

// snapshot carries the values of a snapshot to their new links.
func (r *renaming) snapshot(snap *schema.Snapshot) *schema.Snapshot {
	out := *snap
	out.Series = nil
	for _, s := range snap.Series {
		moved := schema.Series{Metric: s.Metric, Values: make([]float32, snap.Links), Valid: schema.NewBitmap(snap.Links), Count: s.Count}
		for l, to := range r.to {
			moved.Values[to] = s.Values[l]
			if s.Valid.Has(l) {
				moved.Valid.Set(int(to))
			}
		}
		out.Series = append(out.Series, moved)
	}
	return &out
}

// regions carries regions to their new links, as strings to be compared.
func (r *renaming) regions(regions []schema.Region) []string {
	moved := make([]schema.Region, len(regions))
	for i := range regions {
		moved[i] = regions[i]
		moved[i].Links = make([]schema.LinkID, len(regions[i].Links))
		for j, l := range regions[i].Links {
			moved[i].Links[j] = r.to[l]
		}
	}
	return described(moved)
}

// described is regions without their order; means are rounded, because a sum
// depends on the order of its terms.
func described(regions []schema.Region) []string {
	var out []string
	for _, r := range regions {
		out = append(out, fmt.Sprintf("%s %d links, mean %.9g, max %g, %s: %v", r.Metric, r.Size, r.Mean, r.Max, r.Severity, slices.Sorted(slices.Values(r.Links))))
	}
	slices.Sort(out)
	return out
}

// renumbered builds the graph again, its devices and links in random order.
func renumbered(t testing.TB, g *topology.Graph, seed int64) renaming {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	b := topology.NewBuilder(g.Fabric())
	if g.Duplex() {
		b.SetDuplex()
	}
	if g.Grid() != nil {
		b.SetGrid(*g.Grid())
	}
	device := make([]topology.DeviceID, g.NumDevices())
	for _, d := range rng.Perm(g.NumDevices()) {
		device[d] = b.Device(*g.Device(topology.DeviceID(d)))
	}
	to := make([]schema.LinkID, g.NumLinks())
	for _, id := range rng.Perm(g.NumLinks()) {
		l := g.Link(schema.LinkID(id))
		l.From, l.To = device[l.From], device[l.To]
		to[id] = b.Link(l)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return renaming{"renumbered", h, to}
}

// moved maps a torus onto itself, switch by switch.
func moved(name string, g *topology.Graph, where func(c []int) []int) renaming {
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
	r := renaming{name, g, make([]schema.LinkID, g.NumLinks())}
	for id := range r.to {
		from, to := g.Ends(schema.LinkID(id))
		r.to[id] = byEnds[[2]topology.DeviceID{at(from), at(to)}]
	}
	return r
}

// renamings are the other ways to see a fabric.
func renamings(t testing.TB, g *topology.Graph) []renaming {
	out := []renaming{renumbered(t, g, 1)}
	if g.Grid() != nil {
		out = append(out,
			moved("shifted", g, func(c []int) []int { return []int{c[0] + 5, c[1] - 7, c[2] + 11} }),
			moved("mirrored", g, func(c []int) []int { return []int{-c[0], c[1], -c[2]} }),
			moved("turned", g, func(c []int) []int { return []int{c[2], c[0], c[1]} }))
	}
	return out
}

// However a fabric is numbered, shifted, mirrored or turned, its regions are the
// same, to the link.
func TestRegionsDoNotDependOnNumbers(t *testing.T) {
	graphs := map[string]*topology.Graph{}
	others := map[string][]renaming{}
	for _, k := range kinds() {
		if k.name == "statistical" { // overlap begins with the same segments
			continue
		}
		segmenters := map[string][]*Segmenter{}
		for _, set := range k.sets(t) {
			spec := smaller(set)
			if graphs[spec] == nil {
				graphs[spec] = parse(t, spec)
				others[spec] = renamings(t, graphs[spec])
			}
			if segmenters[spec] == nil {
				segmenters[spec] = append(segmenters[spec], newSegmenter(t, graphs[spec], k.cfg))
				for _, r := range others[spec] {
					segmenters[spec] = append(segmenters[spec], newSegmenter(t, r.graph, k.cfg))
				}
			}
			checkRenamings(t, graphs[spec], set, k.name, others[spec], segmenters[spec])
		}
	}
}

// The same on small fabrics of every kind, where patches cover much of them.
func TestRegionsOfSmallFabricsDoNotDependOnNumbers(t *testing.T) {
	for _, spec := range []string{"torus:4x5x6", "torus:2x3x4", "mesh:6x7", "torus:30", "fattree:leaves=4,hosts=3,spines=3", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := parse(t, spec)
		r := renumbered(t, g, 2)
		for _, k := range kinds() {
			cfg := k.cfg
			cfg.MinLinks = 4
			one, other := newSegmenter(t, g, cfg), newSegmenter(t, r.graph, cfg)
			rng := rand.New(rand.NewSource(4))
			for i := range 50 {
				snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: patchyValues(rng, g)})
				want := r.regions(one.Step(snap))
				if got := described(other.Step(r.snapshot(snap))); !slices.Equal(got, want) {
					t.Errorf("%s, %s, snapshot %d: %s", spec, k.name, i, difference(got, want))
				}
			}
		}
	}
}

// checkRenamings compares what the first segmenter finds with what the others
// find under the other names.
func checkRenamings(t *testing.T, g *topology.Graph, set bench.Set, method string, others []renaming, segmenters []*Segmenter) {
	snap := set.Sample(g, 1).Snapshot
	found := segmenters[0].Step(snap)
	for i, r := range others {
		got := described(segmenters[i+1].Step(r.snapshot(snap)))
		if want := r.regions(found); !slices.Equal(got, want) {
			t.Errorf("%s, %s, %s: %s", set.Name, method, r.name, difference(got, want))
		}
	}
}

// difference says how far two lists of regions are apart, and where first.
func difference(got, want []string) string {
	same := 0
	for _, s := range want {
		if slices.Contains(got, s) {
			same++
		}
	}
	head := func(list, other []string) string {
		for _, s := range list {
			if !slices.Contains(other, s) {
				text, _, _ := strings.Cut(s, ":")
				return text
			}
		}
		return "nothing"
	}
	return fmt.Sprintf("%d regions, want %d, of which %d are the same; the first other is %s, want %s", len(got), len(want), same, head(got, want), head(want, got))
}

// sets are what a method is tested on: the paper's, slow and with nothing in it
// that was tuned, on fewer.
func (k kind) sets(t testing.TB) []bench.Set {
	if k.cfg.Method == Paper {
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

// The order of the series, and when and for how long the interval was, do not
// matter.
func TestRegionsDoNotDependOnOrderOrTime(t *testing.T) {
	for _, name := range []string{"torus", "fattree"} {
		set := setNamed(t, name)
		g := parse(t, smaller(set))
		snap := set.Sample(g, 0).Snapshot
		swapped := *snap
		swapped.Series = slices.Clone(snap.Series)
		slices.Reverse(swapped.Series)
		later := *snap
		later.Interval = schema.Interval{StartNanos: 86400e9, DurationNanos: 1e9}
		for _, k := range kinds() {
			s := newSegmenter(t, g, k.cfg)
			want := described(s.Step(snap))
			for name, other := range map[string]*schema.Snapshot{"series in another order": &swapped, "another interval": &later} {
				if got := described(s.Step(other)); !slices.Equal(got, want) {
					t.Errorf("%s, %s, %s: %s", set.Name, k.name, name, difference(got, want))
				}
			}
		}
	}
}

// What was not measured does not matter, whatever stands in its place.
func TestRegionsDoNotDependOnMissingValues(t *testing.T) {
	for _, name := range []string{"hard", "fattree"} { // those with gaps
		set := setNamed(t, name)
		g := parse(t, smaller(set))
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
		for _, k := range kinds() {
			s := newSegmenter(t, g, k.cfg)
			want := described(s.Step(snap))
			if got := described(s.Step(&other)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %s", set.Name, k.name, difference(got, want))
			}
		}
	}
}
