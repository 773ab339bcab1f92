package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// failedRoot is the failure of the link where the back pressure of a region begins, if a job is accused; else nil.
func (rc *regionCase) failedRoot(root *schema.Root) *nearFailure {
	if rc.verdict.accused == 0 || root == nil || root.Kind != schema.RootLinkDown || root.Link == schema.NoLink {
		return nil
	}
	var last *nearFailure
	for i := range rc.failures {
		if f := &rc.failures[i]; slices.Contains(f.Links, root.Link) && f.Port != "" &&
			(last == nil || f.Time > last.Time) {
			last = f
		}
	}
	if last == nil || !last.Broke() {
		return nil
	}
	return last
}

// rootPort is the root of a region: where it ends, given the verdict. Of the answers that are known the first one wins:
// what is blamed says more than the readings, and a port more than a switch. Back pressure has a place on directed links
// only, the ends of traffic on grids only.
func (rc *regionCase) rootPort() *schema.Root {
	for _, answer := range [...]func() *schema.Root{
		rc.failedPart,
		rc.beginsAtPort, rc.leadingPort, rc.beginsAtSwitch,
		rc.slowNodes, rc.linkOnGrid, rc.nodesOnGrid,
	} {
		if at := answer(); at != nil {
			return at
		}
	}
	return nil
}

// failedPart is what failed, if a failure is blamed.
func (rc *regionCase) failedPart() *schema.Root {
	if rc.verdict.class != schema.CauseFailure || rc.verdict.blamed == 0 {
		return nil
	}
	f := &rc.failures[0]
	if len(f.Links) > 0 && f.Port != "" {
		return rc.portOf(f.Links[0], f.Device, schema.RootLinkDown)
	}
	return &schema.Root{Device: f.Device, Port: f.Port, Kind: schema.RootLinkDown, Link: schema.NoLink}
}

// leadingPort is the port for which most waits, if it is not sure that this is the only one.
func (rc *regionCase) leadingPort() *schema.Root {
	if rc.back.Leading.Kind == "" {
		return nil
	}
	return rc.portOf(rc.back.Leading.Link, "", rc.back.Leading.Kind)
}

// beginsAtSwitch is the switch where back pressure begins, if it is not known at which of its ports; of a cable that
// lost rate the port.
func (rc *regionCase) beginsAtSwitch() *schema.Root {
	at := &rc.back.Switch
	switch {
	case at.Kind == "":
		return nil
	case rc.verdict.class == schema.CauseFailure && rc.slowLink() != schema.NoLink:
		return rc.portOf(rc.slowLink(), "", at.Kind)
	}
	return &schema.Root{Device: rc.in.graph.Device(at.Device).Name, Kind: at.Kind, Link: schema.NoLink}
}

// beginsAtPort is the port where back pressure begins; of a deadlock the first one.
func (rc *regionCase) beginsAtPort() *schema.Root {
	kind := rc.back.Root.Kind
	if kind == "" {
		return nil
	}
	if kind == schema.RootSlowReceiver && rc.back.Root.Use < 0 && rc.verdict.accused > 0 && rc.pausedShare() == 0 {
		kind = schema.RootIncast // its load is unknown, but a job is known to load it
	}
	if kind == schema.RootIncast && rc.verdict.class == schema.CauseSlowHost {
		kind = schema.RootSlowReceiver // the counters inside the host show that it does not take what arrives
	}
	if kind == schema.RootDeadlock {
		return rc.portOf(rc.cycleFromFirst()[0], "", kind)
	}
	return rc.portOf(rc.back.Root.Link, "", kind)
}

// cycleOf is the ports of a deadlock, unless a failure is the cause.
func (rc *regionCase) cycleOf() []schema.PortName {
	if rc.back.Root.Kind != schema.RootDeadlock || rc.verdict.class == schema.CauseFailure {
		return nil
	}
	var ports []schema.PortName
	for _, l := range rc.cycleFromFirst() {
		key := rc.in.graph.PortKey(l)
		ports = append(ports, schema.PortName{Device: key.Device, Port: key.Port})
	}
	return ports
}

// cycleFromFirst is a deadlock's cycle, rotated to its first port by name, so that all regions of one deadlock have the
// same root wherever their search entered it.
func (rc *regionCase) cycleFromFirst() []schema.LinkID {
	cycle := rc.back.Cycle
	first := slices.Index(cycle, slices.MinFunc(cycle, func(a, b schema.LinkID) int {
		x, y := rc.in.graph.PortKey(a), rc.in.graph.PortKey(b)
		return cmp.Or(cmp.Compare(x.Device, y.Device), cmp.Compare(x.Port, y.Port))
	}))
	return slices.Concat(cycle[first:], cycle[:first])
}

// probablyAtNodes is the probability that back pressure ends at nodes from which on these are named without load
// readings: stall, which all traffic to them shares, has a centre there, while a full link does not show. The most
// likely switch is named even if one link is likelier than any, as the probability of nodes is shared by those of a
// line.
const probablyAtNodes = .4

// endOnGrid is where the back pressure of a region of a grid ends, given what it is blamed on, if anything shows it.
func (rc *regionCase) endOnGrid() (end root.Ending, known bool) {
	if end = rc.ends.endingFor(rc.verdict.class); !rc.ends.showsEnd() {
		end = rc.ends.endings.Nodes
		return end, end.Found && !rc.in.measuresLoad && rc.ends.endings.AtNodes >= probablyAtNodes
	}
	return end, end.Found
}

// slowNodes is the switch whose nodes take too little, if a slow host is blamed.
func (rc *regionCase) slowNodes() *schema.Root {
	if _, known := rc.endOnGrid(); !known || rc.verdict.class != schema.CauseSlowHost {
		return nil
	}
	return &schema.Root{Device: rc.in.graph.Device(rc.ends.endings.Slow).Name, Kind: schema.RootSlowReceiver,
		Link: schema.NoLink}
}

// linkOnGrid is the link for which the region waits.
func (rc *regionCase) linkOnGrid() *schema.Root {
	end, known := rc.endOnGrid()
	if !known || end.Link == schema.NoLink {
		return nil
	}
	return rc.portOf(end.Link, rc.in.graph.Device(end.Device).Name, rc.kindOf(end.Link))
}

// nodesOnGrid is the switch at whose nodes the region's traffic ends.
func (rc *regionCase) nodesOnGrid() *schema.Root {
	if _, known := rc.endOnGrid(); !known {
		return nil
	}
	at := &schema.Root{Device: rc.nodes.Name, Kind: schema.RootIncast, Link: schema.NoLink}
	if rc.verdict.class == schema.CauseUnknown && !rc.ends.showsEnd() {
		at.Kind = "" // a slow host looks the same
	}
	return at
}

// showsEnd reports whether anything shows where the back pressure of a region on a grid ends: a tree of held-back
// traffic, a switch where traffic meets, a link that is full or lost rate, a node that takes little, or the traffic of
// either direction. Level stall alone does not.
func (e *ends) showsEnd() bool {
	return e.endings.OfMeans || e.drain.IsRoot() || e.drain.Meeting.IsKnown() || e.fullLink != schema.NoLink ||
		e.bottleneck.Before(&e.drain)
}

// endingFor is where the back pressure of a region ends, given what it is blamed on: a slow host, a link that lost
// rate, or load. A link that shows on its own that it lost rate is named before the most probable one.
func (e *ends) endingFor(class schema.CauseClass) root.Ending {
	switch class {
	case schema.CauseSlowHost:
		return e.endings.Nodes
	case schema.CauseFailure:
		if e.bottleneck.Slower && e.bottleneck.Sole {
			return e.bottleneck.Ending()
		}
		return e.endings.Link
	}
	return e.endings.Any
}

// kindOf is the kind of a root between switches: down if the link is, or if a failure of it is near that nothing
// restored.
func (rc *regionCase) kindOf(l schema.LinkID) string {
	if !rc.in.graph.Link(l).Up {
		return schema.RootLinkDown
	}
	var last *history.PlacedFailure
	for i := range rc.failures {
		if f := rc.failures[i].PlacedFailure; slices.Contains(f.Links, l) && (last == nil || f.Time > last.Time) {
			last = f
		}
	}
	if last != nil && last.Broke() {
		return schema.RootLinkDown
	}
	return schema.RootLinkCapacity
}

// portOf is the port that a link leaves; of a duplex link the end at a device.
func (rc *regionCase) portOf(id schema.LinkID, device, kind string) *schema.Root {
	l := rc.in.graph.Link(id)
	from, to := rc.in.graph.Device(l.From), rc.in.graph.Device(l.To)
	if device != "" && to.Name == device {
		return &schema.Root{Device: to.Name, Port: l.ToPort, Peer: from.Name, Kind: kind, Link: id}
	}
	return &schema.Root{Device: from.Name, Port: l.FromPort, Peer: to.Name, Kind: kind, Link: id}
}
