package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Finder finds the roots of regions on one version of a fabric, one region after the other: its memory is used again by the
// next. It is not safe for concurrent use. On links with a direction, Pressure.Follow finds them; on a grid, for each region in
// this order, Drain, Neck, Endings and Shares do.
type Finder struct {
	graph   *topology.Graph
	grid    *routes.Grid // of the graph, or nil
	ends    ends
	held    held
	endings endings
}

// NewFinder makes the memory; grid is nil where there is none.
func NewFinder(g *topology.Graph, grid *routes.Grid) *Finder {
	return &Finder{graph: g, grid: grid, ends: newEnds(g), held: newHeld(g, grid), endings: newEndings(g.NumLinks(), g.NumDevices())}
}

// On is the pressure of an interval, of no region yet: Stall, Before and what else is of a region is to be set for each.
func (f *Finder) On(snap *schema.Snapshot) *Pressure {
	p := &Pressure{graph: f.graph, grid: f.grid, ends: &f.ends, Use: snap.Find(schema.BandwidthUsed), Rate: snap.Find(schema.Throughput), Inq: snap.Find(schema.InqStall), Credit: snap.Find(schema.CreditStall), oneWay: 1}
	p.findCounted()
	return p
}
