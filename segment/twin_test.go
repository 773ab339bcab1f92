package segment

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/topology"
)

// checkTwin compares the statistical method with its naive twin, to the link.
func checkTwin(t reporter, g *topology.Graph, cfg Config, snap *schema.Snapshot) {
	t.Helper()
	s, err := New(g, cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s.method, s.roots = newStatisticalMethod(newAdjacency(g), s.cfg), rooter{} // on directed links too
	twin := newNaiveStatistical(g, s.cfg)
	for i := range snap.Series {
		alone := *snap
		alone.Series = snap.Series[i : i+1]
		var got [][]schema.LinkID
		for _, r := range s.Step(&alone) {
			got = append(got, r.Links)
		}
		want := twin.regions(&snap.Series[i])
		sortRegions(got)
		sortRegions(want)
		if !slices.EqualFunc(got, want, slices.Equal[[]schema.LinkID]) {
			t.Fatalf("series %d: got %v\nwant %v\nvalues %v", i, got, want, snap.Series[i].Values)
		}
	}
}

// drawStatistical draws a configuration whose regions small fabrics have room for.
func drawStatistical(t *rapid.T) Config {
	cfg := DefaultConfig()
	cfg.Overlap = rapid.Bool().Draw(t, "overlap")
	cfg.MinLinks = rapid.IntRange(1, 12).Draw(t, "min links")
	cfg.MinMeanPercent = rapid.SampledFrom([]float64{0, 5, 20}).Draw(t, "min mean")
	return cfg
}

// On any small fabric, with any values.
func TestStatisticalIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, cfg := drawGraph(t), drawStatistical(t)
		checkTwin(t, g, cfg, snapshotOf(map[schema.Metric][]float32{schema.CreditStall: drawValues(t, g)}))
	})
}

// On tori with room for cores, overlaps and nests.
func TestStatisticalIsItsTwinOnBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := topology.Parse("drawn", rapid.SampledFrom([]string{"torus:6x6x4", "torus:8x7x2", "torus:12x12"}).Draw(t, "fabric"))
		if err != nil {
			t.Fatal(err)
		}
		cfg := drawStatistical(t)
		values := boxes(rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))), g)
		checkTwin(t, g, cfg, snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values}))
	})
}

// boxes are stalls of boxes that add up or cover what is below, some softer at the
// edge; of whole percents or with noise that grows; with holes and impulses.
func boxes(rng *rand.Rand, g *topology.Graph) []float32 {
	values := blank(g)
	for range 1 + rng.Intn(5) {
		values.addBox(rng, g)
	}
	base, slope := [...]float64{0, .3, 1, 3}[rng.Intn(4)], [...]float64{0, .02, .1}[rng.Intn(3)]
	for l, v := range values {
		values[l] = min(100, max(0, v+float32((base+slope*float64(v))*rng.NormFloat64())))
	}
	for range rng.Intn(3) {
		values.lose(g.LinksAt(topology.DeviceID(rng.Intn(g.NumDevices()))))
	}
	for range rng.Intn(1 + len(values)/20) {
		values[rng.Intn(len(values))] = [...]float32{missing, 0, 100}[rng.Intn(3)]
	}
	return values
}

func (p painting) addBox(rng *rand.Rand, g *topology.Graph) {
	var origin, size [3]int
	for i, n := range g.Grid().Dims {
		origin[i], size[i] = rng.Intn(n), 1+rng.Intn(n)
	}
	level := float32(5 + rng.Intn(46))
	links := box(g, origin, size)
	inside := map[schema.LinkID]bool{}
	for _, l := range links {
		inside[l] = true
	}
	soft, covers := rng.Float32()*.25*float32(rng.Intn(2)), rng.Intn(3) == 0
	for _, l := range links {
		lift := level
		if slices.ContainsFunc(g.AppendNeighbours(nil, l), func(k schema.LinkID) bool { return !inside[k] }) {
			lift *= 1 - soft
		}
		if covers {
			p[l] = 0
		}
		p[l] += lift
	}
}

// On a sample of each set that the method is measured with, on smaller fabrics.
func TestStatisticalIsItsTwinOnSets(t *testing.T) {
	for _, set := range bench.Sets() {
		g := parse(t, smaller(set))
		snap := set.Sample(g, 1).Snapshot
		for _, k := range kinds()[1:] {
			t.Run(set.Name+"/"+k.name, func(t *testing.T) { checkTwin(t, g, k.cfg, snap) })
		}
	}
}

// smaller is a topology of a set's kind that a slow test has time for.
func smaller(set bench.Set) string {
	if strings.HasPrefix(set.Topology, "torus") {
		return "torus:12x12x12"
	}
	return "fattree:k=8"
}

// A fabric that is stalled nearly all over is a region, however few links are
// calm or missing.
func TestStalledAllOver(t *testing.T) {
	for _, spec := range []string{"torus:10x10x10", "torus:2x4x4"} { // the second with parallel links
		g := parse(t, spec)
		all := run(0, g.NumLinks())
		node, blade := switchLinks(g, 1, 2, 3), slices.Concat(switchLinks(g, 1, 2, 3), switchLinks(g, 1, 2, 2))
		for name, c := range map[string]struct {
			values painting
			lost   []schema.LinkID
		}{
			"calm switch":    {blank(g).paint(40, all).paint(1, node), node},
			"missing switch": {blank(g).paint(40, all).lose(node), node},
			"missing blade":  {blank(g).paint(40, all).lose(blade), blade},
			"missing link":   {blank(g).paint(40, all).lose(all[:1]), all[:1]},
		} {
			got := stepLinks(t, g, DefaultConfig(), c.values)
			if len(got) != 1 || !slices.Equal(got[0], without(all, c.lost)) {
				t.Errorf("%s, %s: %s, want one of all other links", spec, name, sizesOf(got))
			}
		}
	}
}

// run is the links from one to before another.
func run(from, to int) []schema.LinkID {
	var links []schema.LinkID
	for l := from; l < to; l++ {
		links = append(links, schema.LinkID(l))
	}
	return links
}
