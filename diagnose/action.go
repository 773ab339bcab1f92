package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ownShare of a region's stall on links of its exchange is enough for a job to cause it without reading files.
const ownShare = .6

// loadsFiles reports whether a job is accused because of its traffic with storage nodes.
func (c *suspect) loadsFiles() bool {
	return c.file || c.known && c.feature == history.RDMARead && c.cross < ownShare
}

// action is what Monet, section 5.4, recommends for a cause.
func (r *report) action(root *schema.Root) string {
	switch r.verdict.class {
	case schema.CauseIntraApplication:
		name := jobName(r.suspects[0].job)
		if at := r.receiver(&r.suspects[0], root); at != "" {
			return "Ask the owner of " + name + " to spread the traffic to " + at +
				" over several receivers (a tree of aggregators), or to let the senders take turns; another " +
				"placement does not help."
		}
		if r.spreadOut(r.suspects[0].job) {
			return "Place " + name + " in a compact block at its next start, or remap its ranks (TopoMapping) now; " +
				"if it happens often, change its communication pattern."
		}
		return "Remap the ranks of " + name +
			" so that ranks that communicate are neighbours in the network (TopoMapping); if it happens often, " +
			"change its communication pattern."
	case schema.CauseSystem:
		return r.systemAction(root)
	case schema.CauseFailure:
		return r.failureAction()
	case schema.CauseSlowHost:
		if r.back.HasRoot() {
			_, to := r.in.graph.Ends(r.back.Root.Link)
			return "Probe " + topology.PlainName(r.in.graph.Device(to).Name) +
				" (giverny hostping), and drain it if its NIC or PCIe cannot keep up with the incoming traffic."
		}
		if root != nil && root.Port == "" {
			return "Probe the host at " + topology.PlainName(root.Device) +
				" (giverny hostping), then its neighbours on the same line of the grid; drain the one whose NIC or " +
				"PCIe cannot keep up with the incoming traffic."
		}
		return "Probe the hosts of the region (giverny hostping) and drain the one that cannot keep up with the " +
			"incoming traffic."
	}
	if r.back.Root.Kind == schema.RootDeadlock {
		return "Break the cycle: take one of its links down, or let the PFC watchdog of one of its switches drop " +
			"packets; then check the routing for paths that go down and then up again."
	}
	first := ""
	if at := r.region.Root; at != nil && r.in.history.FellSilent(at.Device) {
		first = "First check the agent or collector that reads " + topology.PlainName(at.Device) +
			", whose counters are missing. "
	}
	if root != nil && root.Kind != schema.RootLinkCapacity && root.Kind != schema.RootLinkDown {
		at := root.Device
		if root.Port != "" {
			at = root.Peer
		}
		return first + "Check what traffic arrives at " + topology.PlainName(at) +
			", from where, and whether the host drains it (giverny hostping); look for jobs that the scheduler does " +
			"not report."
	}
	return first + "Watch the region; look for jobs that the scheduler does not report and for events that are in no " +
		"log."
}

// systemAction is action for jobs that disturb each other.
func (r *report) systemAction(root *schema.Root) string {
	if r.verdict.accused > 1 {
		return "Place " + r.jobNames() + " apart from each other at their next start; hold back new jobs near the " +
			"region until it has dissolved."
	}
	c := &r.suspects[0]
	if c.loadsFiles() {
		return "Ask the owner of " + jobName(c.job) +
			" to spread or limit its file traffic (more stripes, fewer nodes at once); place jobs away from its " +
			"routes to the storage nodes until then."
	}
	if at := r.receiver(c, root); at != "" {
		return "Ask the owner of " + jobName(c.job) + " to spread the traffic to " + at +
			" over several receivers (a tree of aggregators), or to let the senders take turns; place other jobs " +
			"away from it until then."
	}
	return "Place " + jobName(c.job) + " away from the jobs that it disturbs at its next start; if it happens often, " +
		"change its communication pattern."
}

// failureAction is action for failed hardware.
func (r *report) failureAction() string {
	if r.verdict.blamed == 0 {
		l := r.in.graph.Link(r.slowLink())
		return "Check the cable at " + r.cableAt(r.in.graph.Device(l.From).Name, l.FromPort) +
			" (width, speed, symbol errors), and replace it; place no communication-intensive job near it until then."
	}
	switch f := &r.failures[0]; {
	case f.silent != nil && f.Port != "":
		ports, also := topology.PortName(f.Device, f.Port), ", then of "
		for i := 1; i < r.verdict.blamed; i++ {
			ports, also = ports+also+topology.PortName(r.failures[i].Device, r.failures[i].Port), ", "
		}
		return "Check the link state of " + ports +
			", and replace or reseat the cable that is down; place no communication-intensive job near it until then."
	case f.Port != "" && f.Times > 1:
		return "Take " + r.cableAt(f.Device, f.Port) +
			" out of service until its cable is replaced or reseated: each time it comes back, traffic is routed " +
			"over it again."
	case f.Port != "":
		return "Replace or reseat the cable at " + r.cableAt(f.Device, f.Port) +
			"; place no communication-intensive job near it until then."
	default:
		return "Repair " + topology.PlainName(f.Device) + "; place no communication-intensive job near it until then."
	}
}

// receiver is the node of a job at which more arrives than it takes, if that is the root; else empty. In an exchange on
// a torus many such nodes are full, and another receiver would not help.
func (r *report) receiver(c *suspect, root *schema.Root) string {
	if root == nil || root.Kind != schema.RootIncast || c.exchanges && root.Port == "" {
		return ""
	}
	name := root.Device
	if root.Port != "" {
		name = root.Peer
	}
	d, known := r.in.graph.FindDevice(name)
	if !known || !c.job.Has(d) {
		return ""
	}
	return topology.PlainName(name)
}

// spreadOut reports whether a job's nodes are not one block.
func (r *report) spreadOut(j *job) bool {
	if r.in.graph.Grid() == nil || r.in.router.Grid == nil {
		return r.fitsFewerLeaves(j)
	}
	volume := 1
	for dim, size := range r.in.graph.Grid().Dims {
		seen := make([]bool, size)
		n := 0
		for _, d := range j.Devices {
			if x := r.in.graph.Device(d).Coord[dim]; !seen[x] {
				seen[x] = true
				n++
			}
		}
		volume *= n
	}
	return volume > len(j.Devices)
}

// fitsFewerLeaves reports whether another placement could help a job on other fabrics than grids: not if it has one
// leaf switch, or does not fit into fewer than all.
func (r *report) fitsFewerLeaves(j *job) bool {
	own := map[topology.DeviceID]bool{}
	for _, d := range j.Devices {
		own[r.in.router.LeafOf(d)] = true
	}
	return len(own) > 1 && (r.in.smallestLeaf == 0 || len(j.Devices) <= len(r.in.hosts)-r.in.smallestLeaf)
}
