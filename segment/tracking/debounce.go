package tracking

import "github.com/giverny/giverny/schema"

// State and Odds are the schema's.
type (
	State = schema.RegionState
	Odds  = schema.Odds
)

// Names of the schema's that this package is full of.
const (
	Gone           = schema.Gone
	NumStates      = schema.NumStates
	LaterIntervals = schema.LaterIntervals
)

// debounce holds back changes of a region's severity until they last. It knows
// the severity last reported, and the run of intervals since in which the region
// lay to one side of it.
type debounce struct {
	reported schema.Severity
	nearest  schema.Severity // of the run: what the region was at least, or at most
	run      int
}

// update takes the severity of an interval and reports whether a change is due:
// to the nearest of a run of so many intervals. A region that hovers between two
// severities, both higher than the reported one, has risen too.
func (d *debounce) update(now schema.Severity, intervals int) bool {
	switch {
	case now == d.reported:
		d.run = 0
		return false
	case d.run == 0 || (now > d.reported) != (d.nearest > d.reported):
		d.nearest, d.run = now, 1
	case now > d.reported:
		d.nearest, d.run = min(d.nearest, now), d.run+1
	default:
		d.nearest, d.run = max(d.nearest, now), d.run+1
	}
	if d.run < intervals {
		return false
	}
	d.reported, d.run = d.nearest, 0
	if now != d.reported {
		d.nearest, d.run = now, 1
	}
	return true
}
