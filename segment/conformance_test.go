package segment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// kind is a way to find regions that must keep all the promises of Segmenter.
type kind struct {
	name string
	cfg  Config
}

func kinds() []kind {
	statistical := DefaultConfig()
	statistical.MinLinks = geminiMinLinks
	overlap := statistical
	overlap.Overlap = true
	return []kind{{"paper", paperConfig()}, {"statistical", statistical}, {"overlap", overlap}}
}

func newSegmenter(t testing.TB, g *topology.Graph, cfg Config) *Segmenter {
	t.Helper()
	s, err := New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every method sees the scenes alike: as they are, and under a little noise.
func TestConformance(t *testing.T) { conformance(t, append(scenes(t), treeScenes(t)...)) }

// The compute fabric of a real machine: 666 switches.
func TestRecordedConformance(t *testing.T) {
	g := readIBNetDiscover(t, repo.Fixture(t, "topology", "ibnetdiscover", "selene.compute.txt"))
	conformance(t, []scene{blobs("selene", g), twoTrees("selene", g)})
}

// followsBackPressure reports whether a method sees the direction of links.
func followsBackPressure(g *topology.Graph, cfg Config) bool {
	return !g.Duplex() && cfg.Method == Statistical
}

func conformance(t *testing.T, list []scene) {
	t.Helper()
	for _, sc := range list {
		slices.SortFunc(sc.want, func(a, b []schema.LinkID) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b))
		})
		for _, k := range kinds() {
			if sc.directed != followsBackPressure(sc.graph, k.cfg) {
				continue
			}
			if sc.directed {
				k.cfg.MinLinks = 0
			}
			s := newSegmenter(t, sc.graph, k.cfg)
			for noise, values := range map[string]painting{"constant": sc.values, "noisy": sc.values.noisy(.5, 1)} {
				t.Run(sc.name+"/"+k.name+"/"+noise, func(t *testing.T) {
					snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values})
					got := s.Step(snap)
					checkRegions(t, sc.graph, k.cfg, snap, got)
					if !slices.EqualFunc(got, sc.want, func(r schema.Region, want []schema.LinkID) bool { return slices.Equal(r.Links, want) }) {
						t.Errorf("got %s, want %s", sizes(got), sizesOf(sc.want))
					}
				})
			}
		}
	}
}

// sizes says what regions there are, short enough for a failure's message.
func sizes(regions []schema.Region) string {
	out := fmt.Sprintf("%d regions", len(regions))
	for _, r := range regions {
		out += fmt.Sprintf(", %d links from %d at %.2f%%", r.Size, r.Links[0], r.Mean)
	}
	return out
}

func sizesOf(regions [][]schema.LinkID) string {
	out := fmt.Sprintf("%d regions", len(regions))
	for _, r := range regions {
		out += fmt.Sprintf(", %d links from %d", len(r), r[0])
	}
	return out
}

func TestEmptySnapshot(t *testing.T) {
	g := parse(t, "torus:5x5x5")
	for _, k := range kinds() {
		s := newSegmenter(t, g, k.cfg)
		for name, snap := range map[string]*schema.Snapshot{
			"no series":   {Links: g.NumLinks()},
			"no stall":    {Links: g.NumLinks(), Series: []schema.Series{{Metric: schema.Throughput, Values: blank(g).paint(50, blob(g, 0, 60)), Valid: full(g)}}},
			"none valid":  {Links: g.NumLinks(), Series: []schema.Series{{Metric: schema.XmitWait, Values: blank(g).paint(50, blob(g, 0, 60)), Valid: schema.NewBitmap(g.NumLinks())}}},
			"other links": nil,
		} {
			if snap == nil {
				mustPanic(t, func() { s.Step(&schema.Snapshot{Links: g.NumLinks() + 1}) })
				continue
			}
			if got := s.Step(snap); len(got) != 0 {
				t.Errorf("%s, %s: %s", k.name, name, sizes(got))
			}
		}
	}
}

// Config's bounds are the least that counts.
func TestBounds(t *testing.T) {
	g := parse(t, "torus:8x8x8")
	cube := box(g, [3]int{1, 1, 1}, [3]int{3, 3, 3})
	snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: blank(g).paint(12, cube)})
	for _, k := range kinds() {
		for _, c := range []struct {
			links int
			mean  float64
			want  int
		}{{len(cube), 12, 1}, {len(cube) + 1, 12, 0}, {len(cube), 12.001, 0}, {1, 0, 2}} {
			cfg := k.cfg
			cfg.MinLinks, cfg.MinMeanPercent = c.links, c.mean
			if got := newSegmenter(t, g, cfg).Step(snap); len(got) != c.want {
				t.Errorf("%s, at least %d links and %v%%: %s, want %d", k.name, c.links, c.mean, sizes(got), c.want)
			}
		}
	}
}

// Where two causes add up, a link is of both regions if overlap is on. If not,
// the statistical method gives it to one of them, and the paper makes a third.
func TestOverlap(t *testing.T) {
	g := parse(t, "torus:12x12x12")
	a, b := box(g, [3]int{9, 2, 2}, [3]int{6, 5, 5}), box(g, [3]int{1, 4, 4}, [3]int{5, 5, 6})
	both := slices.DeleteFunc(slices.Clone(a), func(l schema.LinkID) bool { return !slices.Contains(b, l) })
	values := blank(g).paint(20, a).paint(31, b).paint(51, both)
	for _, amplitude := range []float32{0, 1} {
		snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values.noisy(amplitude, 1)})
		for _, k := range kinds() {
			want := [][]schema.LinkID{a, b} // as large: the first link decides
			switch {
			case k.cfg.Method == Paper:
				want = [][]schema.LinkID{without(a, both), without(b, both), both}
			case !k.cfg.Overlap:
				want = [][]schema.LinkID{a, without(b, both)}
			}
			got := newSegmenter(t, g, k.cfg).Step(snap)
			checkRegions(t, g, k.cfg, snap, got)
			if !slices.EqualFunc(got, want, func(r schema.Region, w []schema.LinkID) bool { return slices.Equal(r.Links, w) }) {
				t.Errorf("%s, noise %v: got %s, want %s", k.name, amplitude, sizes(got), sizesOf(want))
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

// What is no percentage is read as Step says.
func TestStrangeValues(t *testing.T) {
	g := parse(t, "torus:8x8x8")
	cube := box(g, [3]int{2, 2, 2}, [3]int{4, 4, 4})
	odd, calm := cube[40], schema.LinkID(0)
	const denormal = 1e-42
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		at        schema.LinkID
		value, as float32
	}{
		{"NaN", odd, float32(math.NaN()), missing}, {"+Inf", odd, inf, missing}, {"-Inf", odd, -inf, missing},
		{"most", odd, math.MaxFloat32, 100}, {"above 100", odd, 100.001, 100}, {"least", odd, -math.MaxFloat32, 0},
		{"negative", odd, -3, 0}, {"negative zero", calm, float32(math.Copysign(0, -1)), 0}, {"denormal", calm, denormal, 0},
		{"negative denormal", calm, -denormal, 0},
	} {
		for _, k := range kinds() {
			values := blank(g).paint(30, cube).noisy(.5, 2)
			want := slices.Clone(values)
			want[c.at] = c.as
			snap := snapshotOf(map[schema.Metric][]float32{schema.InqStall: values})
			values[c.at] = c.value // valid
			s := newSegmenter(t, g, k.cfg)
			got := toJSON(t, s.Step(snap))
			if want := toJSON(t, s.Step(snapshotOf(map[schema.Metric][]float32{schema.InqStall: want}))); got != want {
				t.Errorf("%s, %s: got %s\nwant %s", c.name, k.name, got, want)
			}
			for i := range values { // and nothing but such values
				values[i] = c.value
			}
			checkRegions(t, g, k.cfg, snap, s.Step(snap))
		}
	}
}

func toJSON(t testing.TB, regions []schema.Region) string {
	t.Helper()
	b, err := json.Marshal(regions)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each metric is segmented as if it were alone; results stand in the order of
// the metrics, then size, largest first, then first link.
func TestMetrics(t *testing.T) {
	g := parse(t, "torus:10x10x10")
	all := map[schema.Metric][]float32{}
	for m := range schema.Metric(schema.NumMetrics) {
		if m == schema.NoMetric {
			continue
		}
		at := 3 * int(m) % 10
		all[m] = blank(g).paint(20+float32(m), box(g, [3]int{at, 1, 1}, [3]int{3, 3, 3})).paint(50-float32(m), box(g, [3]int{at, 6, 6}, [3]int{3, 3, 3})).
			paint(12, box(g, [3]int{at + 5, 6, 2}, [3]int{2, 3, 3})).noisy(.5, int64(m))
	}
	for _, k := range kinds() {
		s := newSegmenter(t, g, k.cfg)
		var want []string
		for m, values := range all {
			alone := s.Step(snapshotOf(map[schema.Metric][]float32{m: values}))
			if m.IsStall() != (len(alone) == 3) {
				t.Fatalf("%s, %s: %s", k.name, m, sizes(alone))
			}
			for _, r := range alone {
				want = append(want, toJSON(t, []schema.Region{r}))
			}
		}
		together := slices.Clone(s.Step(snapshotOf(all)))
		checkRegions(t, g, k.cfg, snapshotOf(all), together)
		var got []string
		for _, r := range together {
			got = append(got, toJSON(t, []schema.Region{r}))
		}
		slices.Sort(want)
		if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
			t.Errorf("%s: together %d regions are not the %d alone", k.name, len(got), len(want))
		}
		cfg := k.cfg
		cfg.Metrics = []schema.Metric{schema.PFCPauseTx(7), schema.CreditStall}
		var order []schema.Metric
		for _, r := range newSegmenter(t, g, cfg).Step(snapshotOf(all)) {
			order = append(order, r.Metric)
		}
		p, c := schema.PFCPauseTx(7), schema.CreditStall
		if !slices.Equal(order, []schema.Metric{p, p, p, c, c, c}) {
			t.Errorf("%s: order %v", k.name, order)
		}
	}
}

// The same snapshot gives the same bytes, whatever the segmenter saw before.
func TestDeterminism(t *testing.T) {
	for _, spec := range []string{"torus:9x8x7", "fattree:k=6", "dragonfly:groups=7,routers=3,hosts=2"} {
		g := parse(t, spec)
		for _, k := range kinds() {
			rng := rand.New(rand.NewSource(3))
			cfg := k.cfg
			cfg.MinLinks = 5
			old := newSegmenter(t, g, cfg)
			for range 8 {
				snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: patchyValues(rng, g), schema.InqStall: patchyValues(rng, g)})
				want := toJSON(t, newSegmenter(t, g, cfg).Step(snap))
				if got := toJSON(t, old.Step(snap)); got != want {
					t.Fatalf("%s, %s: a used segmenter found %s\na new one %s", spec, k.name, got, want)
				}
			}
		}
	}
}
