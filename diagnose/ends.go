package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// end is the switch where the traffic of a region of a grid ends, if known: the one at whose nodes back pressure ends, or else the end
// of the tree.
func (rc *regionCase) end() (at topology.DeviceID, known bool) {
	if rc.endsAtNodes() {
		return rc.endings.Any.Device, true
	}
	return rc.drain.End()
}

// exactFit is the fit from which the tree of a job's nodes overrides other evidence of where it ends; a tree that seems to end beside
// one of the nodes ends at it.
const exactFit = .95

// endsAtNodes reports whether the back pressure of a region of a grid ends at a switch's nodes by the comparison of all places,
// which is more reliable than the tree if readings are the mean of both directions.
func (rc *regionCase) endsAtNodes() bool {
	end := &rc.endings.Any
	return rc.endings.OfMeans && end.Found && end.Link == schema.NoLink && rc.drain.Fit < exactFit
}

// endsAtSlowLink reports whether the comparison of all places shows that a link of a grid lost rate, where nothing else does: no load was
// added, and no tree to nodes fits almost exactly.
func (rc *regionCase) endsAtSlowLink() bool {
	named := rc.neck.Slower && rc.neck.Before(&rc.drain)
	return !named && !rc.flooded && rc.drain.Fit < exactFit && rc.endings.AtSlowLink()
}

// hasBeside reports whether a job has a node at a switch of a grid or one step away along the last dimension: neighbours
// on a line show nearly the same.
func (s *Stage) hasBeside(j *job, at topology.DeviceID) bool { return s.anyBeside(j.devices, at) }

// anyBeside reports the same of a list of devices in ascending order.
func (s *Stage) anyBeside(devices []topology.DeviceID, at topology.DeviceID) bool {
	grid := s.router.Grid
	last := len(grid.Dims()) - 1
	line := grid.Line(at, last)
	for steps := -1; steps <= 1; steps++ {
		d := line.Device(steps)
		away := grid.Steps(at, d, last) // a line of a mesh ends
		if _, has := slices.BinarySearch(devices, d); has && max(away, -away) <= 1 {
			return true
		}
	}
	return false
}

// Back pressure that ends at a switch's nodes with a probability of mayEnd shows nothing on who sends it; from surelyEnds on it does.
const mayEnd, surelyEnds = .6, .9

// endsAway is the penalty of an exchange or a reader if the back pressure of a region of a grid surely ends at the nodes of a switch that
// its traffic only passes: what it sends or reads ends at its own nodes.
func (s *Stage) endsAway(rc *regionCase, c *suspect) float64 {
	if rc.full != schema.NoLink || !c.known || c.writes() || !s.endsBeside(rc, c.job) {
		return 0
	}
	return jobTooLittle * max(0, min(1, (rc.atNodes()-mayEnd)/(surelyEnds-mayEnd)))
}
