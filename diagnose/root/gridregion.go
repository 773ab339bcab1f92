package root

import (
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// GridRegion is a region of a grid under examination: what its links show, and what was found of it so far. Drain,
// Bottleneck, FullLink and Endings are found in this order; the others need no more than what these return. It is valid
// until its finder begins the next region. On other fabrics it finds nothing.
type GridRegion struct {
	treeFits
	endings *endings
	around  *gridFlow
}

// treeFits says how well the readings of a region agree with traffic from some switches to one.
type treeFits struct{ regionReadings }

// regionReadings is what the links of a region show, alone and along the lines of the last dimension.
type regionReadings struct {
	*regionMemory
	p       *Pressure
	links   []schema.LinkID
	squares [measures]float64
	sum     float64 // traffic held back on the region, bytes/s
	most    float64 // highest stall of its links, percent, at least 1
	least   float64 // stall, percent, from which on a link counts as stalled
	last    int     // last dimension in which the region's traffic travels
	grew    bool    // load was added on the region
}

// regionMemory is the memory for the regions of a grid, one after the other. What was found of links is kept for the
// next regions with the same stalls and past.
type regionMemory struct {
	grid     *routes.Grid // nil if the graph is not a grid
	now      *GridRegion  // the region that the rest is of
	readings lookup[schema.LinkID, reading]
	inside   scratch.Marks[schema.LinkID] // links of the region
	met      scratch.Marks[topology.DeviceID]
	devices  []topology.DeviceID // at the region's links, ascending
	line     onLine

	tree    *routes.InTree // that is tried
	lines   [][]float64
	sent    []float64 // by device
	senders []topology.DeviceID
	scores  []float64   // by candidate end: score of how well traffic merges there
	tries   []Meeting   // the candidate ends
	arrived []float64   // by candidate end: what arrives there
	trees   []knownTree // the candidate trees

	claims      claims
	tried       scratch.Marks[schema.LinkID] // as bottlenecks
	bottlenecks []Bottleneck
	stalls      []schema.LinkID // stalled links of the region
	shares      []float64       // of the bottlenecks
}

// newRegionMemory returns the memory for the regions of a graph; grid is nil if it is not a grid.
func newRegionMemory(g *topology.Graph, grid *routes.Grid) *regionMemory {
	if grid == nil || !g.Duplex() {
		return &regionMemory{}
	}
	n := g.NumLinks()
	return &regionMemory{grid: grid, readings: newLookup[schema.LinkID, reading](n), inside: scratch.NewMarks[schema.LinkID](n),
		tried: scratch.NewMarks[schema.LinkID](n), met: scratch.NewMarks[topology.DeviceID](g.NumDevices()),
		claims: claims{of: make([]claim, n)}, sent: make([]float64, g.NumDevices()), tree: grid.NewInTree()}
}

// Region begins the examination of a region of a grid.
func (f *Finder) Region(p *Pressure, links []schema.LinkID) *GridRegion {
	read := regionReadings{regionMemory: f.region, p: p, links: links, most: 1}
	g := &GridRegion{treeFits{read}, &f.endings, &f.around}
	g.now = g
	if g.grid != nil {
		g.measure()
	}
	return g
}

// check panics if another region was begun since.
func (g *GridRegion) check() {
	if g.now != g {
		panic("root: a region of a grid is asked about after the next one was begun")
	}
}

// walkBy follows the region's stall by some readings.
func (g *GridRegion) walkBy(p *Pressure) *gridWalk { return &gridWalk{p, g.around, g.grid} }

// measure sums up what the region's links show, in their order, and lists the switches at them.
func (g *regionReadings) measure() {
	g.readings.turnTo(g.p.Stall, g.p.Number)
	g.inside.Clear()
	g.met.Clear()
	g.devices, g.bottlenecks, g.line.stops = g.devices[:0], g.bottlenecks[:0], g.line.stops[:0]
	g.tries, g.scores, g.arrived, g.trees = g.tries[:0], g.scores[:0], g.arrived[:0], g.trees[:0]
	added, carried := 0., 0.
	for _, l := range g.links {
		g.inside.Add(l)
		at := g.look(l)
		g.most = max(g.most, at.stall)
		for m, v := range at.all() {
			g.squares[m] += v * v
		}
		g.sum, added, carried = g.sum+at.held, added+at.added, carried+at.carries
		if at.dim < 0 {
			continue
		}
		from, to := g.p.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if g.met.Add(d) {
				g.devices = append(g.devices, d)
			}
		}
	}
	slices.Sort(g.devices)
	g.grew = added > grewShare*carried
	g.least = min(lineStall, mostStalled*g.most)
	g.findLast()
}

// reading is what a link shows of merging traffic.
type reading struct {
	dim     int     // dimension on a grid; -1: none
	stall   float64 // percent
	carries float64 // bytes/s
	held    float64 // traffic that waits on it, bytes/s (heldBack)
	added   float64 // load added since the onset, bytes/s; all if that before is unknown
	more    float64 // load beyond the share of that before the onset which its stall lets through, bytes/s
	waits   float64 // share of the time without sending in which it stalls, in the direction in which it stalls, 0 to 1
}

// look returns the reading of a link, valid until the next call.
func (g *regionReadings) look(l schema.LinkID) *reading {
	at, isNew := g.readings.find(l)
	r := &g.readings.list[at]
	if isNew {
		*r = g.read(l)
	}
	return r
}

// read computes the reading of a link.
func (g *regionReadings) read(l schema.LinkID) reading {
	p := g.p
	r := reading{dim: g.grid.Dim(l), stall: p.StallOf(l)}
	use, before, capacity := max(0, p.UseOf(l)), max(0, p.Before(l)), p.graph.Capacity(l)
	r.carries = use / 100 * capacity
	stall := p.stallShare(l)
	r.held = r.carries * stall / (1 - stall)
	r.waits = min(1, p.inOneWay(r.stall/100)/max(leastFree, 1-p.inOneWay(use/100)))
	r.more = max(0, r.carries-(1-min(1, r.stall/100))*before/100*capacity)
	r.added = max(0, use-before) / 100 * capacity
	return r
}
