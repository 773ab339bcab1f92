package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// end is the switch at which the traffic of a region of a grid ends, as far as it is known: where back pressure ends at nodes, or else
// the end of the tree.
func (rc *regionCase) end() (at topology.DeviceID, known bool) {
	if rc.endsAtNodes() {
		return rc.endings.Any.Device, true
	}
	return rc.drain.End()
}

// exactFit is from which fit on a tree of a job's nodes says where it ends, whatever else does; it ends at one of them if it seems to
// end beside it.
const exactFit = .95

// endsAtNodes reports whether the back pressure of a region of a grid ends at nodes of a switch by the comparison of all its places,
// which knows more than the tree where readings are the mean of both directions.
func (rc *regionCase) endsAtNodes() bool {
	end := &rc.endings.Any
	return rc.endings.OfMeans && end.Found && end.Link == schema.NoLink && rc.drain.Fit < exactFit
}

// hasBeside reports whether a job has a node at a switch of a grid or a step from it along the line of the last dimension:
// neighbours on a line show nearly the same.
func (s *Stage) hasBeside(j *job, at topology.DeviceID) bool {
	grid := s.router.Grid
	last := len(grid.Dims()) - 1
	line := grid.Line(at, last)
	for steps := -1; steps <= 1; steps++ {
		d := line.Device(steps)
		away := grid.Steps(at, d, last) // at the end of a mesh's line there is none beside
		if j.has(d) && max(away, -away) <= 1 {
			return true
		}
	}
	return false
}
