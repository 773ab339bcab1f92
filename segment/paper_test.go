package segment

import (
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// parsed are the graphs that parse has built, by specification: graphs never change.
var parsed sync.Map

func parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	if g, ok := parsed.Load(spec); ok {
		return g.(*topology.Graph)
	}
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Store(spec, g)
	return g
}

// snapshotOf makes a snapshot of the given series, in which a negative value is
// missing.
func snapshotOf(metrics map[schema.Metric][]float32) *schema.Snapshot {
	snap := &schema.Snapshot{Fabric: "test", Interval: schema.Interval{DurationNanos: 60e9}}
	for m := schema.Metric(0); int(m) < schema.NumMetrics; m++ {
		values, ok := metrics[m]
		if !ok {
			continue
		}
		s := schema.Series{Metric: m, Values: values, Valid: schema.NewBitmap(len(values))}
		for i, v := range values {
			if !(v < 0) {
				s.Valid.Set(i)
				s.Count++
			}
		}
		snap.Links = len(values)
		snap.Series = append(snap.Series, s)
	}
	return snap
}

func paperConfig() Config {
	cfg := DefaultConfig()
	cfg.Method, cfg.MinLinks = Paper, geminiMinLinks
	return cfg
}

func stepLinks(t testing.TB, g *topology.Graph, cfg Config, values []float32) [][]schema.LinkID {
	t.Helper()
	s, err := New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]schema.LinkID
	for _, r := range s.Step(snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values})) {
		out = append(out, slices.Clone(r.Links))
	}
	return out
}

func TestPaperIsTheDefinition(t *testing.T) {
	for _, spec := range []string{"torus:5x4x6", "torus:2x3x4", "mesh:6x7", "torus:20", "fattree:leaves=4,hosts=3,spines=3",
		"fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := parse(t, spec)
		for distance := 1; distance <= 4; distance++ {
			t.Run(fmt.Sprintf("%s/%d", spec, distance), func(t *testing.T) {
				cfg := paperConfig()
				cfg.Paper.Distance = distance
				cfg.MinLinks = 4
				twin := newNaivePaper(g, cfg)
				rng := rand.New(rand.NewSource(int64(distance)))
				for range 10 {
					values := patchyValues(rng, g)
					got := stepLinks(t, g, cfg, values)
					want := twin.regions(values)
					sortRegions(got)
					sortRegions(want)
					if !slices.EqualFunc(got, want, slices.Equal[[]schema.LinkID]) {
						t.Fatalf("got %v\nwant %v\nvalues %v", got, want, values)
					}
				}
			})
		}
	}
}

// patchyValues are stalls with patches of like value, noise and holes.
func patchyValues(rng *rand.Rand, g *topology.Graph) []float32 {
	values := make([]float32, g.NumLinks())
	for i := range values {
		values[i] = rng.Float32() * 3
	}
	var near []schema.LinkID
	for range 1 + rng.Intn(6) {
		level := 5 + 40*rng.Float32()
		near = append(near[:0], schema.LinkID(rng.Intn(len(values))))
		for i := 0; i < len(near) && i < 1+rng.Intn(8); i++ {
			near = g.AppendNeighbours(near, near[i])
		}
		for _, l := range near {
			values[l] = level + rng.Float32()*4
		}
	}
	for range rng.Intn(1 + len(values)/8) {
		values[rng.Intn(len(values))] = missing
	}
	return values
}

func sortRegions(regions [][]schema.LinkID) {
	slices.SortFunc(regions, slices.Compare[[]schema.LinkID])
}

// A region that lies across the wraparound is one region.
func TestPaperWrapsAround(t *testing.T) {
	g := parse(t, "torus:8x8x8")
	values := make([]float32, g.NumLinks())
	want := 0
	for _, z := range []int{7, 0} {
		for _, y := range []int{7, 0} {
			for _, x := range []int{7, 0} {
				for dim := range 3 {
					values[dim+3*(x+8*(y+8*z))] = 30
					want++
				}
			}
		}
	}
	s, err := New(g, paperConfig())
	if err != nil {
		t.Fatal(err)
	}
	regions := s.Step(snapshotOf(map[schema.Metric][]float32{schema.InqStall: values}))
	if len(regions) != 1 || regions[0].Size != want || regions[0].Mean != 30 || regions[0].Severity != schema.High {
		t.Fatalf("got %+v, want one region of %d links at 30", regions, want)
	}
	// Links leave the switches at 7 and 0 in + direction, so they reach 1.
	if b := regions[0].Box; !slices.Equal(b.Min, []int{7, 7, 7}) || !slices.Equal(b.Max, []int{1, 1, 1}) {
		t.Errorf("box %v, want 7..1 in each dimension", *b)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (&Config{}).Validate(); err == nil {
		t.Error("the zero configuration must be refused")
	}
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"method":        func(c *Config) { c.Method = "magic" },
		"paper overlap": func(c *Config) { c.Method, c.Overlap = Paper, true },
		"metric":        func(c *Config) { c.Metrics = []schema.Metric{schema.Throughput} },
		"twice":         func(c *Config) { c.Metrics = []schema.Metric{schema.XmitWait, schema.XmitWait} },
		"min links":     func(c *Config) { c.MinLinks = -1 },
		"mean":          func(c *Config) { c.MinMeanPercent = 101 },
		"distance":      func(c *Config) { c.Paper.Distance = 99 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
