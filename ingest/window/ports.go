package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// noPort stands for a port that is not in the graph.
const noPort = ^uint32(0)

// ports numbers the ports of one version of a graph, ordered by device and
// name. All slices but first are by port.
type ports struct {
	graph           *topology.Graph
	first           []uint32 // by device: its first port; the total at the end
	device          []topology.DeviceID
	name            []string
	egress, ingress []schema.LinkID
	slowest         float64         // bytes per second of the slowest link; +Inf if no capacity is known
	leaves, enters  []schema.LinkID // the link whose From, or To, the port is; on a duplex graph at most one of them
}

func newPorts(g *topology.Graph) *ports {
	type end struct {
		device topology.DeviceID
		name   string
	}
	ends, slowest := make([]end, 0, 2*g.NumLinks()), math.Inf(1)
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		ends = append(ends, end{l.From, l.FromPort}, end{l.To, l.ToPort})
		if l.CapacityBytesPerSecond > 0 {
			slowest = min(slowest, l.CapacityBytesPerSecond)
		}
	}
	slices.SortFunc(ends, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.name, b.name))
	})
	ends = slices.Compact(ends)
	p := &ports{graph: g, first: make([]uint32, g.NumDevices()+1), slowest: slowest}
	for _, e := range ends {
		links, _ := g.PortAt(e.device, e.name)
		p.device, p.name = append(p.device, e.device), append(p.name, e.name)
		p.egress, p.ingress = append(p.egress, links.Egress), append(p.ingress, links.Ingress)
		p.addEnds(e.device, e.name, links)
		p.first[e.device+1] = uint32(len(p.name))
	}
	for d := range g.NumDevices() {
		p.first[d+1] = max(p.first[d+1], p.first[d])
	}
	return p
}

// addEnds records the links of which the next port is an end.
func (p *ports) addEnds(device topology.DeviceID, name string, links topology.PortLinks) {
	leaves, enters := schema.NoLink, schema.NoLink
	for _, l := range [...]schema.LinkID{links.Egress, links.Ingress} {
		if l == schema.NoLink {
			continue
		}
		switch link := p.graph.Link(l); {
		case link.From == device && link.FromPort == name:
			leaves = l
		case link.To == device && link.ToPort == name:
			enters = l
		}
	}
	p.leaves, p.enters = append(p.leaves, leaves), append(p.enters, enters)
}

func (p *ports) len() int { return len(p.name) }

// links returns, by port, the links that one side of the ports stands for.
func (p *ports) links(side schema.Side) []schema.LinkID {
	if side == schema.Ingress {
		return p.ingress
	}
	return p.egress
}

// find returns the number of a port by device name or GUID, and port name.
func (p *ports) find(name schema.PortName) uint32 {
	d, ok := p.graph.FindDevice(name.Device)
	if !ok {
		return noPort
	}
	first := p.first[d]
	i, ok := slices.BinarySearch(p.name[first:p.first[d+1]], name.Port)
	if !ok {
		return noPort
	}
	return first + uint32(i)
}

// is reports whether a port number remembered for a name is still right.
func (p *ports) is(port uint32, name schema.PortName) bool {
	if int(port) >= len(p.name) || p.name[port] != name.Port {
		return false
	}
	d := p.graph.Device(p.device[port])
	return d.Name == name.Device || name.Device != "" && d.GUID == name.Device
}

// peers names the ports at the other ends: the one that its egress link enters
// and the one that its ingress link leaves.
func (p *ports) peers(port uint32) (names [2]schema.PortName) {
	if l := p.egress[port]; l != schema.NoLink {
		link := p.graph.Link(l)
		names[0] = schema.PortName{Device: p.graph.Device(link.To).Name, Port: link.ToPort}
	}
	if l := p.ingress[port]; l != schema.NoLink {
		link := p.graph.Link(l)
		names[1] = schema.PortName{Device: p.graph.Device(link.From).Name, Port: link.FromPort}
	}
	return names
}
