package ticket

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Action is what Monet, section 5.4, recommends for a cause.
func (f *Finding) Action() string {
	switch f.Class {
	case schema.CauseIntraApplication:
		return f.alsoReplace() + f.ownAction()
	case schema.CauseSystem:
		return f.alsoReplace() + f.systemAction()
	case schema.CauseFailure:
		return f.failureAction()
	case schema.CauseSlowHost:
		return f.slowHostAction()
	}
	return f.unknownAction()
}

// alsoReplace comes first if back pressure begins at a failed link.
func (f *Finding) alsoReplace() string {
	if f.Also == nil {
		return ""
	}
	return "First replace or reseat the cable at " + f.cableAt(f.Also.Device, f.Also.Port) + ". "
}

// ownAction is for a job that is in its own way.
func (f *Finding) ownAction() string {
	switch j := &f.Accused[0]; {
	case j.Receiver != "":
		return "Ask the owner of " + j.title() + " to spread the traffic to " + j.Receiver +
			" over several receivers (a tree of aggregators), or to let the senders take turns; another " +
			"placement does not help."
	case j.Scattered:
		return "Place " + j.title() + " in a compact block at its next start, or remap its ranks (TopoMapping) now; " +
			"if it happens often, change its communication pattern."
	default:
		return "Remap the ranks of " + j.title() +
			" so that ranks that communicate are neighbours in the network (TopoMapping); if it happens often, " +
			"change its communication pattern."
	}
}

// systemAction is for jobs that disturb each other.
func (f *Finding) systemAction() string {
	if len(f.Accused) > 1 {
		var titles []string
		for i := range f.Accused {
			titles = append(titles, f.Accused[i].title())
		}
		return "Place " + listed(titles) + " apart from each other at their next start; hold back new jobs near the " +
			"region until it has dissolved."
	}
	switch j := &f.Accused[0]; {
	case j.Files:
		return "Ask the owner of " + j.title() +
			" to spread or limit its file traffic (more stripes, fewer nodes at once); place jobs away from its " +
			"routes to the storage nodes until then."
	case j.Receiver != "":
		return "Ask the owner of " + j.title() + " to spread the traffic to " + j.Receiver +
			" over several receivers (a tree of aggregators), or to let the senders take turns; place other jobs " +
			"away from it until then."
	default:
		return "Place " + j.title() + " away from the jobs that it disturbs at its next start; if it happens often, " +
			"change its communication pattern."
	}
}

// failureAction is for failed hardware.
func (f *Finding) failureAction() string {
	if len(f.Blamed) == 0 {
		l := f.Graph.Link(f.Lost)
		return "Check the cable at " + f.cableAt(f.Graph.Device(l.From).Name, l.FromPort) +
			" (width, speed, symbol errors), and replace it; place no communication-intensive job near it until then."
	}
	switch first := &f.Blamed[0]; {
	case first.Silent != nil && first.Port != "":
		ports, also := topology.PortName(first.Device, first.Port), ", then of "
		for i := range f.Blamed[1:] {
			next := &f.Blamed[1+i]
			ports, also = ports+also+topology.PortName(next.Device, next.Port), ", "
		}
		return "Check the link state of " + ports +
			", and replace or reseat the cable that is down; place no communication-intensive job near it until then."
	case first.Port != "" && first.Times > 1:
		return "Take " + f.cableAt(first.Device, first.Port) +
			" out of service until its cable is replaced or reseated: each time it comes back, traffic is routed " +
			"over it again."
	case first.Port != "":
		return "Replace or reseat the cable at " + f.cableAt(first.Device, first.Port) +
			"; place no communication-intensive job near it until then."
	default:
		return "Repair " + topology.PlainName(first.Device) +
			"; place no communication-intensive job near it until then."
	}
}

// slowHostAction is for a host that does not take what arrives.
func (f *Finding) slowHostAction() string {
	switch {
	case f.Back.HasRoot():
		_, to := f.Graph.Ends(f.Back.Root.Link)
		return "Probe " + topology.PlainName(f.Graph.Device(to).Name) +
			" (giverny hostping), and drain it if its NIC or PCIe cannot keep up with the incoming traffic."
	case f.Root != nil && f.Root.Port == "":
		return "Probe the host at " + topology.PlainName(f.Root.Device) +
			" (giverny hostping), then its neighbours on the same line of the grid; drain the one whose NIC or " +
			"PCIe cannot keep up with the incoming traffic."
	default:
		return "Probe the hosts of the region (giverny hostping) and drain the one that cannot keep up with the " +
			"incoming traffic."
	}
}

// unknownAction is for an unknown cause.
func (f *Finding) unknownAction() string {
	if f.Back.Root.Kind == schema.RootDeadlock {
		return "Break the cycle: take one of its links down, or let the PFC watchdog of one of its switches drop " +
			"packets; then check the routing for paths that go down and then up again."
	}
	first := ""
	if silent := f.Unknown.Silent; silent != "" {
		first = "First check the agent or collector that reads " + topology.PlainName(silent) +
			", whose counters are missing. "
	}
	if f.Root != nil && f.Root.Kind != schema.RootLinkCapacity && f.Root.Kind != schema.RootLinkDown {
		at := f.Root.Device
		if f.Root.Port != "" {
			at = f.Root.Peer
		}
		return first + "Check what traffic arrives at " + topology.PlainName(at) +
			", from where, and whether the host drains it (giverny hostping); look for jobs that the scheduler does " +
			"not report."
	}
	return first + "Watch the region; look for jobs that the scheduler does not report and for events that are in no " +
		"log."
}

// cableAt names a port and, if known, the other end of its cable: replacing it needs both.
func (f *Finding) cableAt(device, port string) string {
	d, known := f.Graph.FindDevice(device)
	links, ok := f.Graph.FindPort(device, port)
	if !known || !ok || links.Egress == schema.NoLink {
		return topology.PortName(device, port)
	}
	l := f.Graph.Link(links.Egress)
	other, at := l.To, l.ToPort
	if l.From != d || l.FromPort != port { // one link stands for both directions
		other, at = l.From, l.FromPort
	}
	return topology.PortName(device, port) + " (to " + topology.PortName(f.Graph.Device(other).Name, at) + ")"
}
