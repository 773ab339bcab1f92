package merging

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// checkTwin compares the method exactly with its naive twin.
func checkTwin(t stalls.Reporter, g *topology.Graph, cfg Config, snap *schema.Snapshot) {
	t.Helper()
	m := New(g, cfg)
	twin := newNaive(g, cfg)
	for i := range snap.Series {
		values := readings(&snap.Series[i])
		var found linkset.Groups
		m.Segment(values, &found)
		want := twin.regions(values)
		if m.Least() != twin.least {
			t.Fatalf("series %d: regions from %d links, want %d; values %v", i, m.Least(), twin.least, snap.Series[i].Values)
		}
		var got [][]schema.LinkID
		for k := range found.Len() {
			if group := found.Group(k); twin.counts(values, group) {
				got = append(got, group)
			}
		}
		slices.SortFunc(got, slices.Compare)
		slices.SortFunc(want, slices.Compare)
		if !slices.EqualFunc(got, want, slices.Equal[[]schema.LinkID]) {
			t.Fatalf("series %d: got %v\nwant %v\nvalues %v", i, got, want, snap.Series[i].Values)
		}
	}
}

// readings converts a series to percentages or missing.
func readings(series *schema.Series) []float32 {
	values := make([]float32, len(series.Values))
	for l := range values {
		values[l] = linkset.Missing
		if percent, ok := stalls.Reading(series, schema.LinkID(l)); ok {
			values[l] = float32(percent)
		}
	}
	return values
}

// drawConfig draws a configuration suitable for small fabrics.
func drawConfig(t *rapid.T) Config {
	return Config{
		Overlap:        rapid.Bool().Draw(t, "overlap"),
		MinLinks:       rapid.IntRange(1, 12).Draw(t, "min links"),
		MinMeanPercent: rapid.SampledFrom([]float64{0, 5, 20}).Draw(t, "min mean"),

		FalseRegionsPerDay: rapid.SampledFrom([]float64{0, .1, 100}).Draw(t, "false regions"),
	}
}

// On any small fabric, with any values.
func TestStatisticalIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, cfg := stalls.DrawGraph(t), drawConfig(t)
		checkTwin(t, g, cfg, stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: stalls.DrawValues(t, g)}))
	})
}

// On tori with room for cores, overlaps and nests.
func TestStatisticalIsItsTwinOnBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := topologytest.Parse(t, "drawn", rapid.SampledFrom([]string{"torus:6x6x4", "torus:8x7x2", "torus:12x12"}).Draw(t, "fabric"))
		cfg := drawConfig(t)
		values := boxes(rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))), g)
		checkTwin(t, g, cfg, stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values}))
	})
}

// boxes are stalls of boxes that add up or cover others, some with soft edges; in whole
// percents or with growing noise; with holes and impulses.
func boxes(rng *rand.Rand, g *topology.Graph) []float32 {
	values := stalls.Blank(g)
	for range 1 + rng.Intn(5) {
		addBox(values, rng, g)
	}
	base, slope := [...]float64{0, .3, 1, 3}[rng.Intn(4)], [...]float64{0, .02, .1}[rng.Intn(3)]
	for l, v := range values {
		values[l] = min(100, max(0, v+float32((base+slope*float64(v))*rng.NormFloat64())))
	}
	for range rng.Intn(3) {
		values.Lose(g.LinksAt(topology.DeviceID(rng.Intn(g.NumDevices()))))
	}
	for range rng.Intn(1 + len(values)/20) {
		values[rng.Intn(len(values))] = [...]float32{linkset.Missing, 0, 100}[rng.Intn(3)]
	}
	return values
}

func addBox(p stalls.Painting, rng *rand.Rand, g *topology.Graph) {
	var origin, size [3]int
	for i, n := range g.Grid().Dims {
		origin[i], size[i] = rng.Intn(n), 1+rng.Intn(n)
	}
	level := float32(5 + rng.Intn(46))
	links := stalls.Box(g, origin, size)
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

// On a sample of each benchmark set, on smaller fabrics.
func TestStatisticalIsItsTwinOnSets(t *testing.T) {
	for _, set := range bench.Sets() {
		g := stalls.Fabric(t, stalls.Smaller(set.Topology))
		snap := set.Sample(g, 1).Snapshot
		for _, overlap := range []bool{false, true} {
			t.Run(fmt.Sprint(set.Name, "/overlap=", overlap), func(t *testing.T) {
				checkTwin(t, g, Config{MinLinks: 20, MinMeanPercent: 5, Overlap: overlap}, snap)
			})
		}
	}
}

// On congestion trees of a torus with random stall per row or per link.
func TestStatisticalIsItsTwinOnTrees(t *testing.T) {
	g := stalls.Fabric(t, "torus:12x12x12")
	column, rows := stalls.GridTree(g, [3]int{5, 6, 7}, 4)
	for seed := range int64(5) {
		rng := rand.New(rand.NewSource(seed))
		byRow, byLink := stalls.Wavy(g, seed).Add(85, 8, column, seed+100), stalls.Wavy(g, seed)
		for i, row := range rows {
			byRow.Add(float32(35+60*rng.Float64()), 12, row, 100*seed+int64(i))
		}
		for _, l := range slices.Concat(append(rows, column)...) {
			byLink.Add(float32(20+70*rng.Float64()), 0, []schema.LinkID{l}, 0)
		}
		for _, values := range []stalls.Painting{byRow, byLink} {
			checkTwin(t, g, Config{MinLinks: 20, MinMeanPercent: 5}, stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values}))
		}
	}
}
