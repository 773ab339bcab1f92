package segment_test

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Every method finds the same regions in the scenes, as they are and with a little noise.
func TestConformance(t *testing.T) { conformance(t, append(scenes(t), treeScenes(t)...)) }

// The compute fabric of a real machine, with 666 switches.
func TestRecordedConformance(t *testing.T) {
	g := readIBNetDiscover(t, repo.Fixture(t, "topology", "ibnetdiscover", "selene.compute.txt"))
	conformance(t, []scene{blobs("selene", g), twoTrees("selene", g)})
}

func conformance(t *testing.T, list []scene) {
	t.Helper()
	for _, sc := range list {
		slices.SortStableFunc(sc.want, func(a, b []schema.LinkID) int { return cmp.Compare(len(b), len(a)) })
		for _, k := range segmenttest.Kinds() {
			if sc.directed != segmenttest.FollowsBackPressure(sc.graph, k.Config) {
				continue
			}
			if sc.directed {
				k.Config.MinLinks = 0
			}
			s := segmenttest.New(t, sc.graph, k.Config)
			for noise, values := range map[string]stalls.Painting{"constant": sc.values, "noisy": sc.values.Noisy(.5, 1)} {
				t.Run(sc.name+"/"+k.Name+"/"+noise, func(t *testing.T) {
					snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values})
					got := s.Step(snap)
					segmenttest.Check(t, sc.graph, k.Config, snap, got)
					if !slices.EqualFunc(got, sc.want, func(r schema.Region, want []schema.LinkID) bool { return slices.Equal(r.Links, want) }) {
						t.Errorf("got %s, want %s", segmenttest.Sizes(got), segmenttest.SizesOf(sc.want))
					}
				})
			}
		}
	}
}

func TestEmptySnapshot(t *testing.T) {
	g := stalls.Fabric(t, "torus:5x5x5")
	for _, k := range segmenttest.Kinds() {
		s := segmenttest.New(t, g, k.Config)
		for name, snap := range map[string]*schema.Snapshot{
			"no series":   {Links: g.NumLinks()},
			"no stall":    {Links: g.NumLinks(), Series: []schema.Series{{Metric: schema.Throughput, Values: stalls.Blank(g).Paint(50, stalls.Blob(g, 0, 60)), Valid: full(g)}}},
			"none valid":  {Links: g.NumLinks(), Series: []schema.Series{{Metric: schema.XmitWait, Values: stalls.Blank(g).Paint(50, stalls.Blob(g, 0, 60)), Valid: schema.NewBitmap(g.NumLinks())}}},
			"other links": nil,
		} {
			if snap == nil {
				mustPanic(t, func() { s.Step(&schema.Snapshot{Links: g.NumLinks() + 1}) })
				continue
			}
			if got := s.Step(snap); len(got) != 0 {
				t.Errorf("%s, %s: %s", k.Name, name, segmenttest.Sizes(got))
			}
		}
	}
}

// The limits in Config are inclusive.
func TestBounds(t *testing.T) {
	g := stalls.Fabric(t, "torus:8x8x8")
	cube := stalls.Box(g, [3]int{1, 1, 1}, [3]int{3, 3, 3})
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: stalls.Blank(g).Paint(12, cube)})
	for _, k := range segmenttest.Kinds() {
		for _, c := range []struct {
			links int
			mean  float64
			want  int
		}{{len(cube), 12, 1}, {len(cube) + 1, 12, 0}, {len(cube), 12.001, 0}, {1, 0, 2}} {
			cfg := k.Config
			cfg.MinLinks, cfg.MinMeanPercent = c.links, c.mean
			if got := segmenttest.New(t, g, cfg).Step(snap); len(got) != c.want {
				t.Errorf("%s, at least %d links and %v%%: %s, want %d", k.Name, c.links, c.mean, segmenttest.Sizes(got), c.want)
			}
		}
	}
}

// Where two causes add up, a link belongs to both regions if overlap is on. Otherwise the
// statistical method assigns it to one of them, and the paper's makes a third region.
func TestOverlap(t *testing.T) {
	g := stalls.Fabric(t, "torus:12x12x12")
	a, b := stalls.Box(g, [3]int{9, 2, 2}, [3]int{6, 5, 5}), stalls.Box(g, [3]int{1, 4, 4}, [3]int{5, 5, 6})
	both := slices.DeleteFunc(slices.Clone(a), func(l schema.LinkID) bool { return !slices.Contains(b, l) })
	values := stalls.Blank(g).Paint(20, a).Paint(31, b).Paint(51, both)
	for _, amplitude := range []float32{0, 1} {
		snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values.Noisy(amplitude, 1)})
		for _, k := range segmenttest.Kinds() {
			want := [][]schema.LinkID{b, a} // equal sizes: the mean decides, not how links are numbered
			switch {
			case k.Config.Method == segment.Paper:
				want = [][]schema.LinkID{stalls.Without(b, both), stalls.Without(a, both), both}
			case !k.Config.Overlap:
				want = [][]schema.LinkID{a, stalls.Without(b, both)}
			}
			got := segmenttest.New(t, g, k.Config).Step(snap)
			segmenttest.Check(t, g, k.Config, snap, got)
			if !slices.EqualFunc(got, want, func(r schema.Region, w []schema.LinkID) bool { return slices.Equal(r.Links, w) }) {
				t.Errorf("%s, noise %v: got %s, want %s", k.Name, amplitude, segmenttest.Sizes(got), segmenttest.SizesOf(want))
			}
		}
	}
}

func full(g *topology.Graph) schema.Bitmap {
	b := schema.NewBitmap(g.NumLinks())
	for i := range g.NumLinks() {
		b.Set(i)
	}
	return b
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

// Values that are not percentages are treated as documented at Step.
func TestStrangeValues(t *testing.T) {
	g := stalls.Fabric(t, "torus:8x8x8")
	cube := stalls.Box(g, [3]int{2, 2, 2}, [3]int{4, 4, 4})
	odd, calm := cube[40], schema.LinkID(0)
	const denormal = 1e-42
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		at        schema.LinkID
		value, as float32
	}{
		{"NaN", odd, float32(math.NaN()), linkset.Missing}, {"+Inf", odd, inf, linkset.Missing}, {"-Inf", odd, -inf, linkset.Missing},
		{"most", odd, math.MaxFloat32, 100}, {"above 100", odd, 100.001, 100}, {"least", odd, -math.MaxFloat32, 0},
		{"negative", odd, -3, 0}, {"negative zero", calm, float32(math.Copysign(0, -1)), 0}, {"denormal", calm, denormal, 0},
		{"negative denormal", calm, -denormal, 0},
	} {
		for _, k := range segmenttest.Kinds() {
			values := stalls.Blank(g).Paint(30, cube).Noisy(.5, 2)
			want := slices.Clone(values)
			want[c.at] = c.as
			snap := stalls.Snapshot(map[schema.Metric][]float32{schema.InqStall: values})
			values[c.at] = c.value // valid
			s := segmenttest.New(t, g, k.Config)
			got := segmenttest.ToJSON(t, s.Step(snap))
			if want := segmenttest.ToJSON(t, s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.InqStall: want}))); got != want {
				t.Errorf("%s, %s: got %s\nwant %s", c.name, k.Name, got, want)
			}
			for i := range values { // no other values
				values[i] = c.value
			}
			segmenttest.Check(t, g, k.Config, snap, s.Step(snap))
		}
	}
}

// Each metric is segmented independently; results are ordered by metric, then size,
// largest first, then mean, then first link.
func TestMetrics(t *testing.T) {
	g := stalls.Fabric(t, "torus:10x10x10")
	all := map[schema.Metric][]float32{}
	for m := range schema.Metric(schema.NumMetrics) {
		if m == schema.NoMetric {
			continue
		}
		at := 3 * int(m) % 10
		all[m] = stalls.Blank(g).Paint(20+float32(m), stalls.Box(g, [3]int{at, 1, 1}, [3]int{3, 3, 3})).Paint(50-float32(m), stalls.Box(g, [3]int{at, 6, 6}, [3]int{3, 3, 3})).
			Paint(12, stalls.Box(g, [3]int{at + 5, 6, 2}, [3]int{2, 3, 3})).Noisy(.5, int64(m))
	}
	for _, k := range segmenttest.Kinds() {
		s := segmenttest.New(t, g, k.Config)
		var want []string
		for m, values := range all {
			alone := s.Step(stalls.Snapshot(map[schema.Metric][]float32{m: values}))
			if m.IsStall() != (len(alone) == 3) {
				t.Fatalf("%s, %s: %s", k.Name, m, segmenttest.Sizes(alone))
			}
			for _, r := range alone {
				want = append(want, segmenttest.ToJSON(t, []schema.Region{r}))
			}
		}
		together := slices.Clone(s.Step(stalls.Snapshot(all)))
		segmenttest.Check(t, g, k.Config, stalls.Snapshot(all), together)
		var got []string
		for _, r := range together {
			got = append(got, segmenttest.ToJSON(t, []schema.Region{r}))
		}
		slices.Sort(want)
		if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
			t.Errorf("%s: together %d regions are not the %d alone", k.Name, len(got), len(want))
		}
		cfg := k.Config
		cfg.Metrics = []schema.Metric{schema.PFCPauseTx(7), schema.CreditStall}
		var order []schema.Metric
		for _, r := range segmenttest.New(t, g, cfg).Step(stalls.Snapshot(all)) {
			order = append(order, r.Metric)
		}
		p, c := schema.PFCPauseTx(7), schema.CreditStall
		if !slices.Equal(order, []schema.Metric{p, p, p, c, c, c}) {
			t.Errorf("%s: order %v", k.Name, order)
		}
	}
}

// The same snapshot gives identical bytes, whatever the segmenter processed before.
func TestDeterminism(t *testing.T) {
	for _, spec := range []string{"torus:9x8x7", "fattree:k=6", "dragonfly:groups=7,routers=3,hosts=2"} {
		g := stalls.Fabric(t, spec)
		for _, k := range segmenttest.Kinds() {
			rng := rand.New(rand.NewSource(3))
			cfg := k.Config
			cfg.MinLinks = 5
			old := segmenttest.New(t, g, cfg)
			for range 8 {
				snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: stalls.PatchyValues(rng, g), schema.InqStall: stalls.PatchyValues(rng, g)})
				want := segmenttest.ToJSON(t, segmenttest.New(t, g, cfg).Step(snap))
				if got := segmenttest.ToJSON(t, old.Step(snap)); got != want {
					t.Fatalf("%s, %s: a used segmenter found %s\na new one %s", spec, k.Name, got, want)
				}
			}
		}
	}
}
