package root

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// Readings are those of the links of a fabric in an interval, or means of several, by link. A series that is absent is
// nil.
type Readings struct {
	Use    *schema.Series // BandwidthUsed, percent of capacity
	Rate   *schema.Series // Throughput, bytes/s
	Inq    *schema.Series // InqStall, percent of time
	Credit *schema.Series // CreditStall, percent of time

	*hops
	atInputs bool // waits inside switches are counted at the links over which packets came
	// what a link shows that is busy all the time in one direction, share of time: 1, or less if readings are means
	oneWay float64
}

// Past is what the readings of a region are compared with: the load of links before its onset.
type Past struct {
	Before func(schema.LinkID) float64 // use before the onset, percent of capacity; -1: not known
	Number uint32                      // of Before, which no other past has: computed values are kept by it
	Flat   func(schema.LinkID) bool    // whether a link's load was constant since the onset; nil: not known
	Stale  func(schema.LinkID) bool    // whether a link's load is one from before the onset, as the last is lost; nil: none is
}

// Pressure holds the readings by which the back pressure of one region is followed.
type Pressure struct {
	Readings
	Past
	Stall *schema.Series // by which the region stalls, percent of time; nil if absent
}

// For returns the readings as those of a region that stalls by a metric, compared with its past.
func (r *Readings) For(stall *schema.Series, past Past) *Pressure {
	return &Pressure{Readings: *r, Past: past, Stall: stall}
}

const (
	// ClearlyLess is the highest load of a link that lost rate, relative to its load before; LeastUse is the least use
	// before, percent of capacity, that counts for that.
	ClearlyLess, LeastUse = .8, 5
	// MaxStall caps the stall, as a share of time, from which slowdown and offered load are computed.
	MaxStall = .95
	// SteadyLoad is the highest load relative to before the onset that counts as no added load.
	SteadyLoad = 1.08
)

// UseOf is the use of a link, percent of its capacity; -1 if not known.
func (p *Readings) UseOf(l schema.LinkID) float64 {
	if p.Use != nil && p.Use.Valid.Has(int(l)) {
		return float64(p.Use.Values[l])
	}
	return p.useByRate(l)
}

// useByRate is the use of a link by its load in bytes/s; -1 if that, or its capacity, is not known.
func (p *Readings) useByRate(l schema.LinkID) float64 {
	if c := p.graph.Capacity(l); p.Rate != nil && p.Rate.Valid.Has(int(l)) && c > 0 {
		return 100 * float64(p.Rate.Values[l]) / c
	}
	return -1
}

// RateOf is the load of a link, bytes/s; -1 if not known.
func (p *Readings) RateOf(l schema.LinkID) float64 {
	if p.Rate != nil && p.Rate.Valid.Has(int(l)) {
		return float64(p.Rate.Values[l])
	}
	if c := p.graph.Capacity(l); p.Use != nil && p.Use.Valid.Has(int(l)) && c > 0 {
		return float64(p.Use.Values[l]) / 100 * c
	}
	return -1
}

// isStale reports whether a link's load is not known since the onset.
func (p *Pressure) isStale(l schema.LinkID) bool { return p.Stale != nil && p.Stale(l) }

// Carries is the load of a link, bytes/s; 0 if not known.
func (p *Readings) Carries(l schema.LinkID) float64 {
	return max(0, p.UseOf(l)) / 100 * p.graph.Capacity(l)
}

// Added is the change of a link's load since the onset, bytes/s.
func (p *Pressure) Added(l schema.LinkID) (added float64, measured bool) {
	was := p.Before(l)
	if was < 0 || p.UseOf(l) < 0 {
		return 0, false
	}
	return p.Carries(l) - was/100*p.graph.Capacity(l), true
}

// StallOf is the stall of a link, percent.
func (p *Pressure) StallOf(l schema.LinkID) float64 {
	if p.Stall == nil {
		return 0
	}
	if p.Stall.Valid.Has(int(l)) {
		return float64(p.Stall.Values[l])
	}
	return p.stallBehind(l)
}

// heldBack estimates the traffic that waits on a link, from its load and the share of time that it stalls: of an
// offered load o the share s is held back and (1-s)o is carried.
func (p *Pressure) heldBack(l schema.LinkID) float64 {
	stall := p.stallShare(l)
	return p.Carries(l) * stall / (1 - stall)
}

// heldBackOr is the traffic that waits on a link, bytes/s; a load that is not measured is taken as half of the
// capacity.
func (p *Pressure) heldBackOr(l schema.LinkID) float64 {
	if p.UseOf(l) >= 0 {
		return p.heldBack(l)
	}
	stall := p.stallShare(l)
	return .5 * math.Max(1, p.graph.Capacity(l)) * stall / (1 - stall)
}

// measures reports whether the load of links is measured.
func (p *Readings) measures() bool { return p.Use != nil || p.Rate != nil }

// left is a link's use relative to before the onset; 1 if not known.
func (p *Pressure) left(l schema.LinkID) float64 {
	before := p.Before(l)
	if before < LeastUse || p.isStale(l) {
		return 1
	}
	return p.UseOf(l) / before
}

// gained is by how much a link's use exceeds that before the onset, percent of capacity.
func (p *Pressure) gained(l schema.LinkID) float64 { return p.UseOf(l) - max(0, p.Before(l)) }

// lost is the load of a link, bytes/s, that it carried before the onset and does not now.
func (p *Pressure) lost(l schema.LinkID) float64 { return -p.gained(l) * p.graph.Capacity(l) }

// isFlat reports whether a link's load is known to be constant since the onset.
func (p *Pressure) isFlat(l schema.LinkID) bool { return p.Flat != nil && p.Flat(l) }
