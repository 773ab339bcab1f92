package tracking_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// renumbered is a fabric with changing graphs: links of torus:4x4x4 have other numbers in one with
// more links, and change back. It has the current number of each link of the first graph.
type renumbered struct {
	graph *topology.Graph
	where []schema.LinkID
}

func firstNumbers(g *topology.Graph) *renumbered {
	return &renumbered{g, unmoved(g)}
}

// change draws the next graph and the moves to it.
func (r *renumbered) change(t *rapid.T, graphs []*topology.Graph) (moved []schema.LinkID) {
	next := rapid.SampledFrom(graphs).Draw(t, "graph")
	numbers := rapid.Permutation(identity(next.NumLinks())).Draw(t, "numbers")
	moved = slices.Repeat([]schema.LinkID{schema.NoLink}, r.graph.NumLinks())
	for i, l := range r.where {
		r.where[i] = schema.LinkID(numbers[i])
		moved[l] = r.where[i]
	}
	r.graph = next
	return moved
}

func (r *renumbered) regions(in []schema.Region) []schema.Region {
	out := slices.Clone(in)
	for i := range out {
		out[i].Links = nil
		for _, l := range in[i].Links {
			out[i].Links = append(out[i].Links, r.where[l])
		}
		slices.Sort(out[i].Links)
	}
	return out
}

func parsed(t *rapid.T, specs ...string) (graphs []*topology.Graph) {
	for _, s := range specs {
		g := topologytest.Parse(t, "lily", s)
		graphs = append(graphs, g)
	}
	return graphs
}

// Renumbering at any interval, in the process or between two processes, changes only numbers.
func TestNewNumbersDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		graphs := parsed(t, "torus:4x4x4", "torus:5x5x5", "mesh:5x5x5")
		plain, moving := mustTracker(t), mustTracker(t)
		now := firstNumbers(graphs[0])
		for i := range rapid.IntRange(1, 12).Draw(t, "intervals") {
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				moved := now.change(t, graphs)
				moving.SetGraph(now.graph, moved)
			case 1:
				var err error
				if moving, err = tracking.Load(now.graph, tracking.DefaultConfig(), moving.Save()); err != nil {
					t.Fatal(err)
				}
				moved := now.change(t, graphs)
				moving.SetGraph(now.graph, moved)
			}
			in := drawRegions(t)
			b := moving.Step(minuteAt(i), now.regions(in))
			a := plain.Step(minuteAt(i), in)
			for r := range b.Regions {
				b.Regions[r].Links = a.Regions[r].Links
			}
			if diff := gocmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("interval %d: %s", i, diff)
			}
		}
	})
}

func TestNewNumbersDoNotShowInHotLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		graphs := parsed(t, "torus:2x2x2", "torus:3x3x3")
		cfg := tracking.DefaultHotspotConfig()
		cfg.ListLinks = 100
		newHot := func() *tracking.Hotspots {
			h, err := tracking.NewHotspots(graphs[0], cfg)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		plain, moving, now := newHot(), newHot(), firstNumbers(graphs[0])
		draw := rapid.SampledFrom([]float32{-1, 0, 12, 27, 31})
		for i := range rapid.IntRange(1, 12).Draw(t, "intervals") {
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				moved := now.change(t, graphs)
				moving.SetGraph(now.graph, moved)
			case 1:
				var err error
				if moving, err = tracking.LoadHotspots(now.graph, cfg, moving.Save()); err != nil {
					t.Fatal(err)
				}
				moved := now.change(t, graphs)
				moving.SetGraph(now.graph, moved)
			}
			values, others := make([]float32, graphs[0].NumLinks()), make([]float32, now.graph.NumLinks())
			for l := range values {
				values[l] = draw.Draw(t, "percent")
				others[now.where[l]] = values[l]
			}
			plain.Step(snapshotOf(i, values))
			moving.Step(snapshotOf(i, others))
			want, got := slices.Clone(plain.Longest()), slices.Clone(moving.Longest())
			for k := range want {
				want[k].Link = now.where[want[k].Link]
			}
			for _, list := range [][]schema.HotLink{want, got} {
				slices.SortFunc(list, func(a, b schema.HotLink) int { return cmp.Compare(a.Link, b.Link) })
			}
			byAll := cmpopts.SortSlices(func(a, b schema.HotEpisode) bool {
				return cmp.Or(cmp.Compare(a.ThresholdPercent, b.ThresholdPercent), cmp.Compare(a.Intervals, b.Intervals)) < 0
			})
			if diff := gocmp.Diff(want, got) + gocmp.Diff(plain.Episodes(), moving.Episodes(), byAll, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("interval %d: %s", i, diff)
			}
		}
	})
}

// without is the move of a graph's links when some are gone.
func without(g *topology.Graph, gone func(schema.LinkID) bool) []schema.LinkID {
	moved := unmoved(g)
	for l := range moved {
		if gone(schema.LinkID(l)) {
			moved[l] = schema.NoLink
		}
	}
	return moved
}

func TestLinksThatAreGone(t *testing.T) {
	tr, g := newTracker(t), torus(t, "torus:8x8x8")
	var ids []uint64
	for i := range 3 {
		res := tr.Step(minuteAt(i), regions(region(0, 40, 10), region(100, 160, 20)))
		ids = []uint64{res.Regions[0].ID, res.Regions[1].ID}
	}
	tr.SetGraph(g, without(g, func(l schema.LinkID) bool { return l < 40 || l >= 150 }))
	forecasts, _ := tr.Skill()
	loaded, err := tracking.Load(g, tracking.DefaultConfig(), tr.Save())
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []*tracking.Tracker{tr, loaded} {
		res := tr.Step(minuteAt(3), regions(region(0, 40, 10), region(100, 150, 20)))
		if r := res.Regions[1]; r.ID != ids[1] || r.AgeIntervals != 4 || res.Forecasts[1].GrowthLinks != 0 {
			t.Errorf("a region that lost links: %d of age %d, %+v; want %d of age 4, not grown", r.ID, r.AgeIntervals, res.Forecasts[1], ids[1])
		}
		if r := res.Regions[0]; r.ID == ids[0] || r.AgeIntervals != 1 {
			t.Errorf("a region that has no link left goes on as %d of age %d", r.ID, r.AgeIntervals)
		}
		want := []schema.Event{
			{TimeNanos: minuteAt(3).StartNanos, Fabric: "lily", Kind: schema.RegionEnded, RegionID: ids[0],
				Detail: "Low credit_stall region at 0-40 is gone after 3 intervals: none of its links is in the fabric any more"},
		}
		if diff := gocmp.Diff(want, res.Events); diff != "" {
			t.Error(diff)
		}
		if n, _ := tr.Skill(); n.Forecasts != forecasts.Forecasts+1 {
			t.Errorf("%d forecasts were scored, want the one of the region that stayed", n.Forecasts-forecasts.Forecasts)
		}
	}
}

func TestHotLinkThatIsGone(t *testing.T) {
	g := torus(t, "torus:2x2x2")
	h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, g.NumLinks())
	values[1], values[2] = 20, 20
	h.Step(snapshotOf(0, values))
	h.SetGraph(g, without(g, func(l schema.LinkID) bool { return l == 1 }))
	h.Step(snapshotOf(1, values))
	want := []schema.HotLink{
		{Metric: schema.CreditStall, Link: 2, SinceNanos: minuteAt(0).StartNanos}, {Metric: schema.CreditStall, Link: 1, SinceNanos: minuteAt(1).StartNanos},
	}
	if diff := gocmp.Diff(want, h.Longest()); diff != "" || len(h.Episodes()) > 0 {
		t.Errorf("%s, episodes %v", diff, h.Episodes())
	}
}

// The links of a move must exist in the graph.
func TestMovesToMissingLinksPanic(t *testing.T) {
	g, other := torus(t, "torus:8x8x8"), torus(t, "torus:4x4x4")
	defer func() {
		if recover() == nil {
			t.Error("links that the graph does not have are accepted")
		}
	}()
	newTracker(t).SetGraph(other, unmoved(g))
}

// A state of another version of the graph is rejected, and the error says which.
func TestOtherGraphIsNamed(t *testing.T) {
	g, other := torus(t, "torus:8x8x8"), torus(t, "torus:4x4x4")
	hot, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, ofTracker := tracking.Load(other, tracking.DefaultConfig(), savedStory(t))
	_, ofHotspots := tracking.LoadHotspots(other, tracking.DefaultHotspotConfig(), hot.Save())
	for name, err := range map[string]error{"tracker": ofTracker, "hotspots": ofHotspots} {
		if want := fmt.Sprintf("under version %016x of the graph, not %016x", g.Version(), other.Version()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	elsewhere := topologytest.Parse(t, "orchid", "torus:8x8x8")
	if _, err := tracking.Load(elsewhere, tracking.DefaultConfig(), savedStory(t)); err == nil || !strings.Contains(err.Error(), `of fabric "`) {
		t.Errorf("of another fabric: %v", err)
	}
}

// The moves between two real versions: the same cables, listed in reverse, without one switch.
func TestMovedBetweenVersions(t *testing.T) {
	list := func(switches ...string) *topology.Graph {
		b := topology.NewBuilder("lily")
		for _, name := range switches {
			at := b.Device(topology.Device{Name: name, Kind: topology.Switch})
			for port := range 10 {
				host := b.Device(topology.Device{Name: fmt.Sprintf("%s-h%d", name, port), Kind: topology.Host})
				b.Both(topology.Link{From: at, To: host, FromPort: fmt.Sprint(port), ToPort: "1"})
			}
		}
		g, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	was, now := list("iris", "rose", "moss"), list("moss", "iris")
	linksOf := func(g *topology.Graph, name string) (r schema.Region) {
		r = region(0, 0, 20)
		for l := range g.NumLinks() {
			if from, to := g.Ends(schema.LinkID(l)); strings.HasPrefix(g.Device(from).Name, name) || strings.HasPrefix(g.Device(to).Name, name) {
				r.Links = append(r.Links, schema.LinkID(l))
			}
		}
		r.Size = len(r.Links)
		return r
	}
	tr, err := tracking.New(was, tracking.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var first []schema.Region
	for i := range 2 {
		first = slices.Clone(tr.Step(minuteAt(i), regions(linksOf(was, "iris"), linksOf(was, "rose"), linksOf(was, "moss"))).Regions)
	}
	tr.SetGraph(now, topology.Moved(was, now))
	res := tr.Step(minuteAt(2), regions(linksOf(now, "iris"), linksOf(now, "moss")))
	if res.Regions[0].ID != first[0].ID || res.Regions[1].ID != first[2].ID {
		t.Errorf("identities %d and %d, want %d and %d", res.Regions[0].ID, res.Regions[1].ID, first[0].ID, first[2].ID)
	}
	if len(res.Events) != 1 || res.Events[0].Kind != schema.RegionEnded || res.Events[0].RegionID != first[1].ID {
		t.Errorf("events %v, want the end of %d", res.Events, first[1].ID)
	}
}
