package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// nodesEnd is the switch at whose nodes the back pressure of a region of a grid ends, if it ends at nodes: what a job exchanges or reads
// goes to its own nodes, what it writes to storage nodes, which are in no job. nil: unknown.
func (rc *regionCase) nodesEnd() *topology.Device {
	if !rc.endings.Nodes.Found {
		return nil
	}
	return rc.graph.Device(rc.finder.NodesEnd(func(at topology.DeviceID) bool {
		for i := range rc.verdict.accused {
			if rc.receivesAt(&rc.jobs[i], at) {
				return true
			}
		}
		return false
	}))
}

// receivesAt reports whether nodes of a switch can receive the traffic for which a job is accused.
func (in *interval) receivesAt(c *suspect, at topology.DeviceID) bool {
	reads, _ := in.maximum(c.job, history.Read)
	if writes, _ := in.maximum(c.job, history.Write); c.file && writes > reads {
		return len(in.tenants[at]) == 0
	}
	return c.job.Has(at)
}
