package bench

import (
	"math/rand"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Truth is a region as it was made.
type Truth struct {
	Metric schema.Metric
	Links  []schema.LinkID // ascending; those that were measured
	Root   schema.LinkID   // the port that the region waits for; schema.NoLink: many, or none
}

// Sample is a snapshot and the regions in it.
type Sample struct {
	Snapshot *schema.Snapshot
	Truth    []Truth
}

// Set is a family of samples.
type Set struct {
	Name     string
	Topology string // as topology.Parse reads it, or ImportedFabric
	Metrics  []schema.Metric
	About    string
	draw     func(*canvas)
}

// Sample draws a sample on a graph of the set's topology. The same seed gives
// the same sample.
func (s *Set) Sample(g *topology.Graph, seed int64) Sample {
	c := &canvas{g: g, rng: rand.New(rand.NewSource(seed)), layers: make([]layer, len(s.Metrics))}
	for i, m := range s.Metrics {
		c.layers[i] = layer{metric: m, value: make([]float64, g.NumLinks()), missing: schema.NewBitmap(g.NumLinks())}
	}
	s.draw(c)
	return c.sample()
}

// canvas is a sample in the making.
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
	roots   []schema.LinkID // by region, as far as regions have roots
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
			if len(links) == 0 { // none of it is in a reading
				continue
			}
			slices.Sort(links)
			truth = append(truth, Truth{l.metric, links, root})
		}
	}
	return Sample{snap, truth}
}

// pick is one of the layers.
func (c *canvas) pick() *layer { return &c.layers[c.rng.Intn(len(c.layers))] }

// uniform is a number from low to high.
func (c *canvas) uniform(low, high float64) float64 { return low + (high-low)*c.rng.Float64() }

// between is a whole number from low to high, both included.
func (c *canvas) between(low, high int) int { return low + c.rng.Intn(high-low+1) }

// clip keeps what a percentage can be.
func (l *layer) clip() {
	for i, v := range l.value {
		l.value[i] = min(max(v, 0), 100)
	}
}
