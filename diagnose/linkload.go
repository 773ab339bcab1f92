package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// percent is the load of a link, percent of its capacity. The zero value is unknown.
type percent struct {
	of    float64
	known bool
}

// percentOf is a load in which a negative number, as package root has it, stands for unknown.
func percentOf(p float64) percent {
	if p < 0 {
		return percent{}
	}
	return percent{p, true}
}

// orZero is the load for a sum, to which a link that was not read adds nothing.
func (p percent) orZero() float64 { return p.of }

// use is the load of a link in the interval.
func (in *interval) use(l schema.LinkID) percent { return percentOf(in.read.UseOf(l)) }

// baselineUse is its load before the onset of the region under diagnosis.
func (rc *regionCase) baselineUse(l schema.LinkID) percent { return percentOf(rc.pressure.Before(l)) }

// lastUse is its load just before a failure.
func (in *interval) lastUse(f *history.PlacedFailure, l schema.LinkID) percent {
	return percentOf(in.history.LastUse(f, l))
}

// rateAt is the load of a link at a use, percent of its capacity, bytes/s.
func (in *interval) rateAt(use float64, l schema.LinkID) float64 {
	return use / 100 * in.graph.Capacity(l)
}

// addedTo is the load added to a link since the onset or, without one, what it carries, bytes/s.
func (rc *regionCase) addedTo(l schema.LinkID) float64 {
	return rc.in.rateAt(rc.in.use(l).orZero()-rc.baselineUse(l).orZero(), l)
}

// ratio is a load relative to the baseline. The zero value is unknown: neither above nor below anything.
type ratio struct {
	times float64
	known bool
}

func (r ratio) isBelow(times float64) bool { return r.known && r.times < times }

func (r ratio) isAbove(times float64) bool { return r.known && r.times > times }

func (r ratio) atLeast(times float64) bool { return r.known && r.times >= times }

// orMore is the greater of two ratios, of those that are known.
func (r ratio) orMore(o ratio) ratio {
	if !r.known || o.isAbove(r.times) {
		return o
	}
	return r
}

// mostDoublings bounds the evidence of a ratio of loads: ratios of small loads are mostly noise.
const mostDoublings = 2

// doublings is the binary logarithm of a ratio, bounded; 0, no evidence, if it is unknown.
func (r ratio) doublings() float64 {
	if !r.known {
		return 0
	}
	return max(-mostDoublings, min(mostDoublings, math.Log2(r.times)))
}
