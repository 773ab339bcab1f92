package linkhealth

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// layout is the fabric as cables: the two directed links between two ports are one
// cable, as is a duplex link. Ends are numbered: cable i has ends 2i, its first link's
// From, and 2i+1.
type layout struct {
	cables []cable
	at     [][]int32                 // by device: its ends
	of     [2][]topology.DeviceID    // by kind: nodes, switches
	endOf  map[schema.PortName]int32 // by port, with the device's name and with its GUID
}

type cable struct {
	link  schema.LinkID // the first link; its presence is that of the cable's ends
	back  schema.LinkID // the other direction; schema.NoLink if one link stands for both
	ends  [2]topology.DeviceID
	ports [2]string
}

func newLayout(g *topology.Graph) layout {
	l := layout{at: make([][]int32, g.NumDevices()), endOf: make(map[schema.PortName]int32, 2*g.NumPorts())}
	for d := range topology.DeviceID(g.NumDevices()) {
		k := kindOf(g, d)
		l.of[k] = append(l.of[k], d)
	}
	for id := range schema.LinkID(g.NumLinks()) {
		link := g.Link(id)
		from := schema.PortName{Device: g.Device(link.From).Name, Port: link.FromPort}
		to := schema.PortName{Device: g.Device(link.To).Name, Port: link.ToPort}
		if end, ok := l.endOf[from]; ok { // the other direction was added before
			if other, ok := l.endOf[to]; ok && other == end^1 {
				l.cables[end/2].back = id
				continue
			}
		}
		l.add(g, cable{id, schema.NoLink, [2]topology.DeviceID{link.From, link.To}, [2]string{link.FromPort, link.ToPort}})
	}
	return l
}

func kindOf(g *topology.Graph, d topology.DeviceID) kind {
	if g.IsSwitch(d) {
		return switches
	}
	return nodes
}

func (l *layout) add(g *topology.Graph, c cable) {
	for side, d := range c.ends {
		end := int32(2*len(l.cables) + side)
		l.at[d] = append(l.at[d], end)
		device := g.Device(d)
		l.endOf[schema.PortName{Device: device.Name, Port: c.ports[side]}] = end
		if device.GUID != "" {
			l.endOf[schema.PortName{Device: device.GUID, Port: c.ports[side]}] = end
		}
	}
	l.cables = append(l.cables, c)
}

func (c *cable) names(g *topology.Graph) (names [2]schema.PortName) {
	for side, d := range c.ends {
		names[side] = schema.PortName{Device: g.Device(d).Name, Port: c.ports[side]}
	}
	return names
}

// device is an end's device, port the name of its port.
func (l *layout) device(end int32) topology.DeviceID { return l.cables[end/2].ends[end&1] }
func (l *layout) port(end int32) string              { return l.cables[end/2].ports[end&1] }

// far is the other end of the cable.
func far(end int32) int32 { return end ^ 1 }
