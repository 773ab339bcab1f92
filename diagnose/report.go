package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// report puts the verdict on a region into words. It reads the case; steadyRoot and hold take the verdicts of earlier intervals into
// account.
type report struct{ *regionCase }

// diagnosis is the verdict in its stored and published form (docs/reference/diagnosis.md).
func (r *report) diagnosis(snap *schema.Snapshot) schema.Diagnosis {
	region := r.region
	d := schema.Diagnosis{Fabric: snap.Fabric, Time: schema.Instant(snap.Interval.StartNanos), Region: region.ID,
		Metric: region.Metric, Severity: region.Severity, Links: slices.Clone(region.Links), Mean: region.Mean,
		Cause: schema.Cause{Class: r.verdict.class, Confidence: r.verdict.confidence}, Jobs: []schema.AccusedJob{}, Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}}
	seconds := float64(snap.Interval.DurationNanos) / 1e9
	for i := range r.verdict.accused {
		c := &r.jobs[i]
		a := schema.AccusedJob{JobID: c.job.ID, Blame: c.blame, Value: c.value, Deviations: c.devs,
			Correlation: c.Correlation, LagSeconds: float64(c.Lag) * seconds, PValue: c.P}
		if c.known {
			a.Feature = c.feature.String()
		}
		d.Jobs = append(d.Jobs, a)
	}
	for i := range r.verdict.blamed {
		d.Failures = append(d.Failures, r.failures[i].report())
	}
	if r.verdict.blamed > 0 {
		r.repeated(&d)
	}
	d.Root = r.steady().steadyRoot(r.rootPort())
	also := r.failedRoot(d.Root)
	if also != nil {
		d.Failures = append(d.Failures, also.report())
	}
	d.Cycle = r.cycleOf()
	d.Victims = r.victims()
	d.Action = schema.OneLine(r.action(d.Root))
	because := r.because(d.Root)
	if also != nil {
		d.Action = "First replace or reseat the cable at " + r.cableAt(also.Device, also.Port) + ". " + d.Action
		because += " " + r.failed(also) + ", and the back pressure leads to it: without that link the job's traffic has less capacity."
	}
	because = r.steady().hold(because, &d)
	d.Text = schema.OneLine(r.text(because, &d))
	return d
}

// failedRoot is the failure of the link where the back pressure of a region begins, if a job is accused; else nil.
func (r *report) failedRoot(root *schema.Root) *nearFailure {
	if r.verdict.accused == 0 || root == nil || root.Kind != schema.RootLinkDown || root.Link == schema.NoLink {
		return nil
	}
	var last *nearFailure
	for i := range r.failures {
		if f := &r.failures[i]; slices.Contains(f.Links, root.Link) && f.Port != "" && (last == nil || f.Time > last.Time) {
			last = f
		}
	}
	if last == nil || !last.Broke() {
		return nil
	}
	return last
}

// rootPort names the root: the failed port if a failure is blamed, else where back pressure begins.
func (r *report) rootPort() *schema.Root {
	if r.verdict.class == schema.CauseFailure && r.verdict.blamed > 0 {
		f := &r.failures[0]
		if len(f.Links) > 0 && f.Port != "" {
			return r.portOf(f.Links[0], f.Device, schema.RootLinkDown)
		}
		return &schema.Root{Device: f.Device, Port: f.Port, Kind: schema.RootLinkDown, Link: schema.NoLink}
	}
	if r.back.Kind == "" && r.back.Waits {
		if port := r.onlyReceiver(); port != nil {
			return port
		}
	}
	if r.back.Kind == "" && r.back.As != "" {
		return r.portOf(r.back.Leading, "", r.back.As)
	}
	if r.back.Kind == "" && r.back.KindAt != "" {
		return &schema.Root{Device: r.graph.Device(r.back.At).Name, Kind: r.back.KindAt, Link: schema.NoLink}
	}
	if r.back.Kind == "" {
		return r.centreRoot()
	}
	kind := r.back.Kind
	if kind == schema.RootSlowReceiver && r.back.Use < 0 && r.verdict.accused > 0 {
		kind = schema.RootIncast // its load is unknown, but a job is known to load it
	}
	if kind == schema.RootIncast && r.verdict.class == schema.CauseSlowHost {
		kind = schema.RootSlowReceiver // the counters inside the host show that it does not take what arrives
	}
	if kind == schema.RootDeadlock {
		return r.portOf(r.cycleFromFirst()[0], "", kind)
	}
	return r.portOf(r.back.Link, "", kind)
}

// cycleOf is the ports of a deadlock, unless a failure is the cause.
func (r *report) cycleOf() []schema.PortName {
	if r.back.Kind != schema.RootDeadlock || r.verdict.class == schema.CauseFailure {
		return nil
	}
	var ports []schema.PortName
	for _, l := range r.cycleFromFirst() {
		key := r.graph.PortKey(l)
		ports = append(ports, schema.PortName{Device: key.Device, Port: key.Port})
	}
	return ports
}

// cycleFromFirst is a deadlock's cycle, rotated to its first port by name, so that all regions of one deadlock have the
// same root wherever their search entered it.
func (r *report) cycleFromFirst() []schema.LinkID {
	cycle := r.back.Cycle
	first := slices.Index(cycle, slices.MinFunc(cycle, func(a, b schema.LinkID) int {
		x, y := r.graph.PortKey(a), r.graph.PortKey(b)
		return cmp.Or(cmp.Compare(x.Device, y.Device), cmp.Compare(x.Port, y.Port))
	}))
	return slices.Concat(cycle[first:], cycle[:first])
}

// onlyReceiver is the port to the only host of the accused job at the switch where the stall ends, if nothing
// else says which port is full; nil: none.
func (r *report) onlyReceiver() *schema.Root {
	if r.verdict.accused == 0 {
		return nil
	}
	only := schema.NoLink
	for _, d := range r.jobs[0].job.Devices {
		for _, l := range r.graph.LinksAt(d) {
			if from, to := r.graph.Ends(l); to != d || from != r.back.At {
				continue
			}
			if only != schema.NoLink {
				return nil
			}
			only = l
		}
	}
	if only == schema.NoLink {
		return nil
	}
	return r.portOf(only, "", schema.RootIncast)
}

// centreRoot is the root on a grid, whose links have no direction: where its back pressure ends; of a slow host the switch whose
// nodes take too little.
func (r *report) centreRoot() *schema.Root {
	end := r.endingFor(r.verdict.class)
	if !end.Found || !r.showsEnd() {
		return nil
	}
	if r.verdict.class == schema.CauseSlowHost {
		return &schema.Root{Device: r.graph.Device(r.endings.Slow).Name, Kind: schema.RootSlowReceiver, Link: schema.NoLink}
	}
	if end.Link != schema.NoLink {
		return r.portOf(end.Link, r.graph.Device(end.Device).Name, r.kindOf(end.Link))
	}
	return &schema.Root{Device: r.nodes.Name, Kind: schema.RootIncast, Link: schema.NoLink}
}

// showsEnd reports whether anything shows where the back pressure of a region on a grid ends: a tree of held-back traffic, a switch
// where traffic meets, a link that is full or lost rate, a node that takes little, or the traffic of either direction. Level stall
// alone does not.
func (e *ends) showsEnd() bool {
	return e.endings.OfMeans || e.drain.IsRoot() || e.drain.Meeting.IsKnown() || e.full != schema.NoLink || e.neck.Before(&e.drain)
}

// endingFor is where the back pressure of a region ends, given what it is blamed on: a slow host, a link that lost rate, or load.
func (e *ends) endingFor(class schema.CauseClass) root.Ending {
	switch class {
	case schema.CauseSlowHost:
		return e.endings.Nodes
	case schema.CauseFailure:
		return e.endings.Link
	}
	return e.endings.Any
}

// kindOf is the kind of a root between switches: down if the link is, or if a failure of it is near that nothing restored.
func (r *report) kindOf(l schema.LinkID) string {
	if !r.graph.Link(l).Up {
		return schema.RootLinkDown
	}
	var last *history.PlacedFailure
	for i := range r.failures {
		if f := r.failures[i].PlacedFailure; slices.Contains(f.Links, l) && (last == nil || f.Time > last.Time) {
			last = f
		}
	}
	if last != nil && last.Broke() {
		return schema.RootLinkDown
	}
	return schema.RootLinkCapacity
}

// portOf is the port that a link leaves; of a duplex link the end at a device.
func (r *report) portOf(id schema.LinkID, device, kind string) *schema.Root {
	l := r.graph.Link(id)
	from, to := r.graph.Device(l.From), r.graph.Device(l.To)
	if device != "" && to.Name == device {
		return &schema.Root{Device: to.Name, Port: l.ToPort, Peer: from.Name, Kind: kind, Link: id}
	}
	return &schema.Root{Device: from.Name, Port: l.FromPort, Peer: to.Name, Kind: kind, Link: id}
}

// victims are the jobs that are not accused, and whose traffic crosses the region's links or fell much at its onset. If a share s
// of the time is spent waiting, what crosses takes 1/(1-s) as long. The lower bound takes the mean stall of the region's links
// that the job uses, weighted by the share of its traffic there; the upper bound the worst of them, as if all messages waited for
// it, or what the job lost if that is more.
func (r *report) victims() []schema.VictimJob {
	out := []schema.VictimJob{}
	for i := r.verdict.accused; i < len(r.jobs); i++ {
		c := &r.jobs[i]
		lost := 0.
		if r.canHoldUp(c) {
			lost = r.lostBy(c.job)
		}
		if lost < smallLoss {
			lost = 0
		}
		if c.worst < schema.LowPercent/100. && lost == 0 {
			continue
		}
		most := max(c.worst, min(root.MaxStall, lost))
		out = append(out, schema.VictimJob{JobID: c.job.ID, Slowdown: [2]float64{1 / (1 - min(c.worst, c.waits)), 1 / (1 - most)}, LostPercent: 100 * lost})
	}
	slices.SortStableFunc(out, func(a, b schema.VictimJob) int { // measured losses come before bounds
		return cmp.Or(cmp.Compare(b.LostPercent, a.LostPercent), cmp.Compare(b.Slowdown[1], a.Slowdown[1]), cmp.Compare(a.JobID, b.JobID))
	})
	return out[:min(len(out), r.cfg.MaxListed)]
}

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
		name := jobName(r.jobs[0].job)
		if at := r.receiver(&r.jobs[0], root); at != "" {
			return "Ask the owner of " + name + " to spread the traffic to " + at + " over several receivers (a tree of aggregators), or to let the senders take turns; another placement does not help."
		}
		if r.spreadOut(r.jobs[0].job) {
			return "Place " + name + " in a compact block at its next start, or remap its ranks (TopoMapping) now; if it happens often, change its communication pattern."
		}
		return "Remap the ranks of " + name + " so that ranks that communicate are neighbours in the network (TopoMapping); if it happens often, change its communication pattern."
	case schema.CauseSystem:
		return r.systemAction(root)
	case schema.CauseFailure:
		return r.failureAction()
	case schema.CauseSlowHost:
		if r.back.Kind != "" {
			_, to := r.graph.Ends(r.back.Link)
			return "Probe " + topology.PlainName(r.graph.Device(to).Name) + " (giverny hostping), and drain it if its NIC or PCIe cannot keep up with the incoming traffic."
		}
		if root != nil && root.Port == "" {
			return "Probe the host at " + topology.PlainName(root.Device) + " (giverny hostping), then its neighbours on the same line of the grid; drain the one whose NIC or PCIe cannot keep up with the incoming traffic."
		}
		return "Probe the hosts of the region (giverny hostping) and drain the one that cannot keep up with the incoming traffic."
	}
	if r.back.Kind == schema.RootDeadlock {
		return "Break the cycle: take one of its links down, or let the PFC watchdog of one of its switches drop packets; then check the routing for paths that go down and then up again."
	}
	if root != nil && root.Kind != schema.RootLinkCapacity && root.Kind != schema.RootLinkDown {
		at := root.Device
		if root.Port != "" {
			at = root.Peer
		}
		return "Check what traffic arrives at " + topology.PlainName(at) + ", from where, and whether the host drains it (giverny hostping); look for jobs that the scheduler does not report."
	}
	return "Watch the region; look for jobs that the scheduler does not report and for events that are in no log."
}

// systemAction is action for jobs that disturb each other.
func (r *report) systemAction(root *schema.Root) string {
	if r.verdict.accused > 1 {
		return "Place " + r.jobNames() + " apart from each other at their next start; hold back new jobs near the region until it has dissolved."
	}
	c := &r.jobs[0]
	if c.loadsFiles() {
		return "Ask the owner of " + jobName(c.job) + " to spread or limit its file traffic (more stripes, fewer nodes at once); place jobs away from its routes to the storage nodes until then."
	}
	if at := r.receiver(c, root); at != "" {
		return "Ask the owner of " + jobName(c.job) + " to spread the traffic to " + at + " over several receivers (a tree of aggregators), or to let the senders take turns; place other jobs away from it until then."
	}
	return "Place " + jobName(c.job) + " away from the jobs that it disturbs at its next start; if it happens often, change its communication pattern."
}

// failureAction is action for failed hardware.
func (r *report) failureAction() string {
	if r.verdict.blamed == 0 {
		l := r.graph.Link(r.slowLink())
		return "Check the cable at " + r.cableAt(r.graph.Device(l.From).Name, l.FromPort) + " (width, speed, symbol errors), and replace it; place no communication-intensive job near it until then."
	}
	switch f := &r.failures[0]; {
	case f.silent != nil && f.Port != "":
		ports, also := topology.PortName(f.Device, f.Port), ", then of "
		for i := 1; i < r.verdict.blamed; i++ {
			ports, also = ports+also+topology.PortName(r.failures[i].Device, r.failures[i].Port), ", "
		}
		return "Check the link state of " + ports + ", and replace or reseat the cable that is down; place no communication-intensive job near it until then."
	case f.Port != "" && f.Times > 1:
		return "Take " + r.cableAt(f.Device, f.Port) + " out of service until its cable is replaced or reseated: each time it comes back, traffic is routed over it again."
	case f.Port != "":
		return "Replace or reseat the cable at " + r.cableAt(f.Device, f.Port) + "; place no communication-intensive job near it until then."
	default:
		return "Repair " + topology.PlainName(f.Device) + "; place no communication-intensive job near it until then."
	}
}

// receiver is the node of a job at which more arrives than it takes, if that is the root; else empty. In an exchange on a torus
// many such nodes are full, and another receiver would not help.
func (r *report) receiver(c *suspect, root *schema.Root) string {
	if root == nil || root.Kind != schema.RootIncast || c.exchanges && root.Port == "" {
		return ""
	}
	name := root.Device
	if root.Port != "" {
		name = root.Peer
	}
	d, known := r.graph.FindDevice(name)
	if !known || !c.job.Has(d) {
		return ""
	}
	return topology.PlainName(name)
}

// spreadOut reports whether a job's nodes are not one block.
func (r *report) spreadOut(j *job) bool {
	if r.graph.Grid() == nil || r.router.Grid == nil {
		return r.fitsFewerLeaves(j)
	}
	volume := 1
	for dim, size := range r.graph.Grid().Dims {
		seen := make([]bool, size)
		n := 0
		for _, d := range j.Devices {
			if x := r.graph.Device(d).Coord[dim]; !seen[x] {
				seen[x] = true
				n++
			}
		}
		volume *= n
	}
	return volume > len(j.Devices)
}

// fitsFewerLeaves reports whether another placement could help a job on other fabrics than grids: not if it has one leaf
// switch, or does not fit into fewer than all.
func (r *report) fitsFewerLeaves(j *job) bool {
	own := map[topology.DeviceID]bool{}
	for _, d := range j.Devices {
		own[r.router.LeafOf(d)] = true
	}
	return len(own) > 1 && (r.smallestLeaf == 0 || len(j.Devices) <= len(r.hosts)-r.smallestLeaf)
}

// repeated adds to a diagnosis the earlier failures of the part that it blames first.
func (r *report) repeated(d *schema.Diagnosis) {
	f := r.failures[0].PlacedFailure
	if f.Times < 2 {
		return
	}
	for i := range r.failures {
		o := &r.failures[i]
		if o.silent == nil && o.Broke() && o.Part() == f.Part() && o.Time < f.Time && len(d.Failures) < r.cfg.MaxListed &&
			!slices.ContainsFunc(d.Failures, func(n schema.NearFailure) bool { return n.Time == o.Time && n.Device == o.Device && n.Port == o.Port }) {
			d.Failures = append(d.Failures, o.report())
		}
	}
}
