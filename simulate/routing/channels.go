package routing

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Channel numbers the directed channels of a graph densely from zero. On a directed
// graph it is the link's number; a duplex link l has two channels, 2l from its From to
// its To and 2l+1 back.
type Channel uint32

// NoChannel marks the absence of a channel.
const NoChannel = Channel(^uint32(0))

// Channels is a graph as directed channels, each up or down. It is mutable and not safe
// for concurrent use.
type Channels struct {
	graph    *topology.Graph
	perLink  int // 1, or 2 on a duplex graph
	from, to []topology.DeviceID
	up       []bool
	out, in  rows
	changes  uint64 // incremented at every change of up
}

// rows are the channels of each device, ascending, as compressed rows (CSR).
type rows struct {
	off []uint32
	at  []Channel
}

// newRows lists channels by their device.
func newRows(devices int, deviceOf []topology.DeviceID) rows {
	r := rows{make([]uint32, devices+1), make([]Channel, len(deviceOf))}
	for _, d := range deviceOf {
		r.off[d+1]++
	}
	for d := range devices {
		r.off[d+1] += r.off[d]
	}
	fill := append([]uint32(nil), r.off...)
	for ch, d := range deviceOf {
		r.at[fill[d]] = Channel(ch)
		fill[d]++
	}
	return r
}

func (r *rows) of(d topology.DeviceID) []Channel { return r.at[r.off[d]:r.off[d+1]] }

// NewChannels returns the channels of a graph; those of links that are up are up.
func NewChannels(g *topology.Graph) *Channels {
	c := &Channels{graph: g, perLink: 1}
	if g.Duplex() {
		c.perLink = 2
	}
	n := g.NumLinks() * c.perLink
	c.from, c.to, c.up = make([]topology.DeviceID, n), make([]topology.DeviceID, n), make([]bool, n)
	for ch := range c.from {
		l := g.Link(schema.LinkID(ch / c.perLink))
		c.from[ch], c.to[ch], c.up[ch] = l.From, l.To, l.Up
		if c.perLink == 2 && ch%2 == 1 {
			c.from[ch], c.to[ch] = l.To, l.From
		}
	}
	c.out, c.in = newRows(g.NumDevices(), c.from), newRows(g.NumDevices(), c.to)
	return c
}

// Graph is the graph that the channels belong to.
func (c *Channels) Graph() *topology.Graph { return c.graph }

// Len is the number of channels.
func (c *Channels) Len() int { return len(c.from) }

// Ends are the devices that a channel leaves and enters.
func (c *Channels) Ends(ch Channel) (from, to topology.DeviceID) { return c.from[ch], c.to[ch] }

// Link is the link that a channel belongs to.
func (c *Channels) Link(ch Channel) schema.LinkID { return schema.LinkID(int(ch) / c.perLink) }

// Of lists the channels of a link: one, or two on a duplex graph.
func (c *Channels) Of(l schema.LinkID) []Channel {
	first := Channel(int(l) * c.perLink)
	return []Channel{first, first + 1}[:c.perLink]
}

// Out lists the channels that leave a device, ascending. The slice must not be
// modified.
func (c *Channels) Out(d topology.DeviceID) []Channel { return c.out.of(d) }

// In lists the channels that enter a device, as Out.
func (c *Channels) In(d topology.DeviceID) []Channel { return c.in.of(d) }

// Ports returns the channels that leave and enter a device's port; NoChannel if there
// is none.
func (c *Channels) Ports(d topology.DeviceID, port string) (egress, ingress Channel) {
	links, ok := c.graph.PortAt(d, port)
	if !ok {
		return NoChannel, NoChannel
	}
	if c.perLink == 1 {
		return Channel(links.Egress), Channel(links.Ingress)
	}
	there := Channel(2 * links.Egress)
	if l := c.graph.Link(links.Egress); l.From == d && l.FromPort == port {
		return there, there + 1
	}
	return there + 1, there
}

// Find returns the channel that leaves the port named "DEVICE PORT".
func (c *Channels) Find(name string) (Channel, error) {
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return NoChannel, fmt.Errorf("link %q: want DEVICE PORT, for example %q", name, c.example())
	}
	d, ok := c.graph.FindDevice(name[:i])
	if !ok {
		return NoChannel, fmt.Errorf("link %q: fabric %q has no device %q; its links are named like %q", name, c.graph.Fabric(), name[:i], c.example())
	}
	egress, _ := c.Ports(d, name[i+1:])
	if egress == NoChannel {
		return NoChannel, fmt.Errorf("link %q: no link leaves that port; links are named like %q", name, c.example())
	}
	return egress, nil
}

// Name is the name of the port that the channel leaves, in the format of Find.
func (c *Channels) Name(ch Channel) string {
	l := c.graph.Link(c.Link(ch))
	port := l.FromPort
	if c.from[ch] != l.From || c.perLink == 2 && ch%2 == 1 {
		port = l.ToPort
	}
	return c.graph.Device(c.from[ch]).Name + " " + port
}

func (c *Channels) example() string { return c.Name(0) }

// Up reports whether the channel carries traffic.
func (c *Channels) Up(ch Channel) bool { return c.up[ch] }

// SetUp changes the state of a channel, for paths computed afterwards.
func (c *Channels) SetUp(ch Channel, up bool) {
	if c.up[ch] != up {
		c.up[ch] = up
		c.changes++
	}
}

// Intact reports whether every channel of a path is up.
func (c *Channels) Intact(path []Channel) bool {
	for _, ch := range path {
		if !c.up[ch] {
			return false
		}
	}
	return true
}
