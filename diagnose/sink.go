package diagnose

import "github.com/giverny/giverny/topology"

// readerAt is the node where most of a region of a grid ends if it is blamed on a file-reading job: what that reads goes to all its
// nodes, so there is no tree to one switch, and what a node does not take waits on the links at it. Else nil.
func (s *Stage) readerAt(rc *regionCase, v *verdict) (at *topology.Device) {
	if v.accused == 0 || !rc.jobs[0].file || s.router.Grid == nil || !s.graph.Duplex() {
		return nil
	}
	j := rc.jobs[0].job
	if s.writes(j) {
		return nil
	}
	stall := map[topology.DeviceID]float64{}
	for i, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		stall[from] += rc.weight[i]
		stall[to] += rc.weight[i]
	}
	most := 0.
	for _, d := range j.devices {
		if stall[d] > most {
			at, most = s.graph.Device(d), stall[d]
		}
	}
	return at
}

// nodesEnd is the switch at whose nodes the back pressure of a region of a grid ends, if it ends at nodes: an exchange ends at nodes of
// its job, written files at nodes of no job, the storage nodes. nil: unknown.
func (s *Stage) nodesEnd(rc *regionCase, v *verdict) *topology.Device {
	if !rc.endings.Nodes.Found {
		return nil
	}
	return s.graph.Device(s.work.finder.NodesEnd(func(at topology.DeviceID) bool {
		for i := range v.accused {
			switch c := &rc.jobs[i]; {
			case !c.file && c.job.has(at), c.file && len(s.work.tenants[at]) == 0 && s.writes(c.job):
				return true
			}
		}
		return false
	}))
}

// writes reports whether a job writes more files than it reads.
func (s *Stage) writes(j *job) bool {
	reads, _ := s.maximum(j, read)
	writes, _ := s.maximum(j, write)
	return writes >= reads
}
