package bench

import (
	"math/rand"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Truth is a true region.
type Truth struct {
	Metric schema.Metric
	Links  []schema.LinkID // ascending; only measured ones
	Root   schema.LinkID   // the port that the region waits for; schema.NoLink: several or none
}

// Sample is a snapshot with its ground truth.
type Sample struct {
	Snapshot *schema.Snapshot
	Truth    []Truth
}

// Set is a family of samples.
type Set struct {
	Name     string
	Topology string // for topology.Parse, or ImportedFabric
	Metrics  []schema.Metric
	About    string
	draw     func(*canvas)
}

// Sample draws a sample on a graph of the set's topology. It is deterministic for a
// seed.
func (s *Set) Sample(g *topology.Graph, seed int64) Sample {
	c := &canvas{g: g, rng: rand.New(rand.NewSource(seed)), layers: make([]layer, len(s.Metrics))}
	for i, m := range s.Metrics {
		c.layers[i] = layer{metric: m, value: make([]float64, g.NumLinks()), missing: schema.NewBitmap(g.NumLinks())}
	}
	s.draw(c)
	return c.sample()
}

// canvas is a sample being drawn.
type canvas struct {
	g      *topology.Graph
	rng    *rand.Rand
	layers []layer

	scratch []bool // of marks
}

// layer is one metric of a canvas.
type layer struct {
	metric  schema.Metric
	value   []float64 // percent, by link
	missing schema.Bitmap
	regions [][]schema.LinkID
	roots   []schema.LinkID // by region, if it has a root
}

func (c *canvas) sample() Sample {
	snap := &schema.Snapshot{Fabric: c.g.Fabric(), GraphVersion: c.g.Version(), Links: c.g.NumLinks(), Interval: schema.Interval{DurationNanos: 60e9}}
	var truth []Truth
	for _, l := range c.layers {
		series := schema.Series{Metric: l.metric, Values: make([]float32, len(l.value)), Valid: schema.NewBitmap(len(l.value))}
		for i, v := range l.value {
			if !l.missing.Has(i) {
				series.Values[i] = float32(v)
				series.Valid.Set(i)
				series.Count++
			}
		}
		snap.Series = append(snap.Series, series)
		snap.Samples += series.Count
		for i, r := range l.regions {
			root := schema.NoLink
			if i < len(l.roots) {
				root = l.roots[i]
			}
			links := slices.DeleteFunc(slices.Clone(r), func(id schema.LinkID) bool { return l.missing.Has(int(id)) })
			if len(links) == 0 { // nothing of it was measured
				continue
			}
			slices.Sort(links)
			truth = append(truth, Truth{l.metric, links, root})
		}
	}
	return Sample{snap, truth}
}

// pick returns a random layer.
func (c *canvas) pick() *layer { return &c.layers[c.rng.Intn(len(c.layers))] }

// uniform draws a number from low to high.
func (c *canvas) uniform(low, high float64) float64 { return low + (high-low)*c.rng.Float64() }

// between draws an integer from low to high, inclusive.
func (c *canvas) between(low, high int) int { return low + c.rng.Intn(high-low+1) }

// clip limits values to valid percentages.
func (l *layer) clip() {
	for i, v := range l.value {
		l.value[i] = min(max(v, 0), 100)
	}
}
