package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// nodesEnd is the switch at whose nodes the back pressure of a region of a grid ends, if it ends at nodes: what a job
// exchanges or reads goes to its own nodes, what it writes to storage nodes, which are in no job. nil: unknown.
func (rc *regionCase) nodesEnd() *topology.Device {
	if !rc.ends.endings.Nodes.Found {
		return nil
	}
	return rc.in.graph.Device(rc.onGrid.NodesEnd(func(at topology.DeviceID) (most float64) {
		for i := range rc.verdict.accused {
			most = max(most, rc.receivesAt(&rc.suspects[i], at))
		}
		return most
	}))
}

// receivesAt is how surely, 0 to 1, nodes of a switch can receive the traffic for which a job is accused.
func (rc *regionCase) receivesAt(c *suspect, at topology.DeviceID) float64 {
	has := c.job.Has(at)
	reads, _ := rc.in.maximum(c.job, history.Read)
	switch writes, _ := rc.in.maximum(c.job, history.Write); {
	case c.file && writes > reads:
		has = len(rc.in.tenants[at]) == 0
	case c.away:
		return rc.endFit(c, at)
	}
	if !has {
		return 0
	}
	return 1
}
