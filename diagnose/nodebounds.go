package diagnose

import "github.com/giverny/giverny/diagnose/history"

// leavingNodes is how surely, 0 to 1, a job's nodes send what was added to the nodes of another switch, for which a region
// waits, on a grid of directed links. A job that has nodes there may send to itself.
func (d directed) leavingNodes(j *job) float64 {
	if !d.back.HasSwitch() || !d.back.IsIncast() || j.Has(d.back.Switch.Device) || !d.timeline.hasOnset() {
		return 0
	}
	added, left := d.takesMore(d.back.Switch.Device), d.sentByNodes(j)
	if added <= 0 || left <= mayFill*added || !d.tableHasMore(j, left) {
		return 0
	}
	return ramp(left/added, mayFill, surelyFills)
}

// sentByNodes is by how much more a job's nodes send than they take in, bytes/s, than before the onset of a region, by
// conservation of flow: more leaves their switches than comes there.
func (rc *regionCase) sentByNodes(j *job) (bytes float64) {
	for _, at := range j.Devices {
		bytes -= rc.takesMore(at)
	}
	return bytes
}

// tableHasMore reports whether a table of RDMA traffic has half of what a job's nodes send more than before the onset,
// bytes/s: otherwise a job that no table lists sends it, from the same nodes. Without such a table it may be the job's.
func (rc *regionCase) tableHasMore(j *job, left float64) bool {
	t := j.Traffic
	if t == nil || !t.Listed[history.RDMARead] && !t.Listed[history.RDMAWrite] {
		return true
	}
	return rc.in.perSecond(rc.in.recentOf(j).all-rc.baselineOf(j).all) >= left/2
}
