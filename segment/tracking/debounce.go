package tracking

import "github.com/giverny/giverny/schema"

// debounce delays changes of a region's severity until they last. It keeps the severity
// last reported, and the run of intervals since in which the severity was to one side
// of it.
type debounce struct {
	reported schema.Severity
	nearest  schema.Severity // of the run: the value closest to reported
	run      int
}

// update takes the severity of an interval and reports whether to report a change:
// after a run of the given length, to its value closest to the reported one. So a
// region that alternates between two severities above the reported one has risen, too.
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
