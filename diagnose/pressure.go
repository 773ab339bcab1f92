package diagnose

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// pressure follows back pressure on one snapshot.
type pressure struct {
	graph  *topology.Graph
	grid   *routes.Grid // of the graph, or nil
	stall  *schema.Series
	use    *schema.Series // BandwidthUsed, or nil
	rate   *schema.Series // Throughput, or nil
	inq    *schema.Series // InqStall, or nil
	credit *schema.Series // CreditStall, or nil

	least    float64 // stall, percent, from which on a link of the region that is looked at is taken to stall
	atInputs bool    // what waits inside switches is counted at the links over which it came

	before func(schema.LinkID) float64
	flat   func(schema.LinkID) bool                    // whether a link carried the same in the intervals since the onset; nil: not known
	peaks  func(schema.LinkID) (before, since float64) // the most that a link carried before the onset, and since; nil: not known
	begins bool                                        // the region began in this interval: readings are of two states
	ends   *ends
}

func newPressure(g *topology.Graph, grid *routes.Grid, snap *schema.Snapshot) *pressure {
	return &pressure{graph: g, grid: grid, use: snap.Find(schema.BandwidthUsed), rate: snap.Find(schema.Throughput), inq: snap.Find(schema.InqStall), credit: snap.Find(schema.CreditStall)}
}

// useOf is the share of a link's capacity in use, in percent; -1 if it is not known.
func (p *pressure) useOf(l schema.LinkID) float64 {
	if p.use != nil && p.use.Valid.Has(int(l)) {
		return float64(p.use.Values[l])
	}
	if c := p.graph.Capacity(l); p.rate != nil && p.rate.Valid.Has(int(l)) && c > 0 {
		return 100 * float64(p.rate.Values[l]) / c
	}
	return -1
}

// clearlyLess is the share of what it carried before that a link which lost rate carries at most; leastUse is
// what it must have carried, percent of its capacity.
const clearlyLess, leastUse = .8, 5

// left is the share of what a link carried before the onset that it carries now; 1 if that is not known.
func (p *pressure) left(l schema.LinkID) float64 {
	was, is := p.before(l), p.useOf(l)
	if was < leastUse || is < 0 {
		return 1
	}
	return is / was
}
