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

// told is the severity of a region that was last told, and the run of intervals
// since in which the region lay to one side of it.
type told struct {
	severity schema.Severity
	nearest  schema.Severity // of the run: what the region was at least, or at most
	run      int
}

// take notes the severity of an interval and reports whether a change is to be
// told: to the nearest of a run of hold intervals, so that a region that hovers
// between two severities, both higher than what was told, has risen all the same.
func (h *told) take(now schema.Severity, hold int) bool {
	switch {
	case now == h.severity:
		h.run = 0
		return false
	case h.run == 0 || (now > h.severity) != (h.nearest > h.severity):
		h.nearest, h.run = now, 1
	case now > h.severity:
		h.nearest, h.run = min(h.nearest, now), h.run+1
	default:
		h.nearest, h.run = max(h.nearest, now), h.run+1
	}
	if h.run < hold {
		return false
	}
	h.severity, h.run = h.nearest, 0
	if now != h.severity {
		h.nearest, h.run = now, 1
	}
	return true
}
