package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Finder finds the roots of regions on one version of a fabric, one region after the other. It reuses its memory and is
// not safe for concurrent use. On directed links Follow finds them, on a grid the methods of Region do.
type Finder struct {
	graph   *topology.Graph
	hops    *hops
	down    downstream
	around  gridFlow
	region  *regionMemory
	endings endings
}

// NewFinder returns a finder; grid is nil if the graph is not a grid.
func NewFinder(g *topology.Graph, grid *routes.Grid) *Finder {
	f := &Finder{graph: g, hops: &hops{g, nextSwitches(g), grid}, region: newRegionMemory(g, grid),
		endings: newEndings(g.NumLinks(), g.NumDevices())}
	if g.Duplex() {
		f.around = newGridFlow(g)
	} else {
		f.down = newDownstream(g)
	}
	return f
}

// On returns the readings of an interval.
func (f *Finder) On(snap *schema.Snapshot) *Readings {
	f.down.ended = f.down.ended[:0]
	r := &Readings{hops: f.hops, Use: snap.Find(schema.BandwidthUsed), Rate: snap.Find(schema.Throughput),
		Inq: snap.Find(schema.InqStall), Credit: snap.Find(schema.CreditStall), oneWay: 1}
	r.findCounted()
	return r
}
