package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Pressure is what the links of a fabric show in an interval, and showed before, by which back pressure is followed. It is
// compared with what was before the onset of the region that is looked at.
type Pressure struct {
	// Readings of the interval, or means of several, by link; nil where there are none.
	Stall  *schema.Series // that the region is of, percent of time
	Use    *schema.Series // BandwidthUsed, percent of capacity
	Rate   *schema.Series // Throughput, bytes/s
	Inq    *schema.Series // InqStall, percent of time
	Credit *schema.Series // CreditStall, percent of time

	Before func(schema.LinkID) float64                 // what a link carried before the onset, percent of its capacity; -1: not known
	Flat   func(schema.LinkID) bool                    // whether a link carried the same in the intervals since the onset; nil: not known
	Peaks  func(schema.LinkID) (before, since float64) // the most that a link carried before the onset, and since; nil: not known
	Begins bool                                        // the region began in this interval: readings are of two states

	graph    *topology.Graph
	grid     *routes.Grid // of the graph, or nil
	ends     *ends
	least    float64 // stall, percent, from which on a link of the region that is looked at is taken to stall
	atInputs bool    // what waits inside switches is counted at the links over which it came
	oneWay   float64 // share of the time that a link shows which is busy all of it in one direction: 1, or less where readings are means
}

const (
	// ClearlyLess is the share of what it carried before that a link which lost rate carries at most; LeastUse is
	// what it must have carried, percent of its capacity.
	ClearlyLess, LeastUse = .8, 5
	// MaxStall caps the stall that slowdowns and offers are computed from, share of time.
	MaxStall = .95
	// SteadyLoad is the most that is carried, of what was before the onset, where no load was added.
	SteadyLoad = 1.08
)

// UseOf is the share of a link's capacity in use, in percent; -1 if it is not known.
func (p *Pressure) UseOf(l schema.LinkID) float64 {
	if p.Use != nil && p.Use.Valid.Has(int(l)) {
		return float64(p.Use.Values[l])
	}
	return p.useByRate(l)
}

func (p *Pressure) useByRate(l schema.LinkID) float64 {
	if c := p.graph.Capacity(l); p.Rate != nil && p.Rate.Valid.Has(int(l)) && c > 0 {
		return 100 * float64(p.Rate.Values[l]) / c
	}
	return -1
}

// RateOf is what a link carries, bytes per second; -1 if it is not known.
func (p *Pressure) RateOf(l schema.LinkID) float64 {
	if p.Rate != nil && p.Rate.Valid.Has(int(l)) {
		return float64(p.Rate.Values[l])
	}
	if c := p.graph.Capacity(l); p.Use != nil && p.Use.Valid.Has(int(l)) && c > 0 {
		return float64(p.Use.Values[l]) / 100 * c
	}
	return -1
}

// Carries is what a link carries, bytes/s; 0 if that is not known.
func (p *Pressure) Carries(l schema.LinkID) float64 {
	return max(0, p.UseOf(l)) / 100 * p.graph.Capacity(l)
}
