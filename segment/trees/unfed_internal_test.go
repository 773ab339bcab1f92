package trees

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

// Links of leaf6 that stall beside an exchange of other leaves are part of it if no host of leaf6 waits: then what they wait
// for does not stall, and what waits for them is elsewhere. They are a region of their own if their senders or their receiver
// show, if it is unknown whether hosts wait, and if none waits in what is beside them.
func TestUnfedRegionIsPartOfWhatIsBesideIt(t *testing.T) {
	for name, c := range map[string]struct {
		hosts       float32 // from hosts of leaf6, percent
		port        float32 // of leaf6, to a host, percent
		hasReceiver bool    // leaf6 is the root, and if the port counts as stalled the port
		showsHosts  bool    // hosts of the exchange wait
		want        bool
	}{
		"hosts of its leaf are calm":      {showsHosts: true, want: true},
		"hosts of its leaf wait":          {showsHosts: true, hosts: 25},
		"hosts of its leaf have no value": {showsHosts: true, hosts: linkset.Missing},
		"a port is its root":              {showsHosts: true, hasReceiver: true, port: 30},
		"a port of its root stands out":   {showsHosts: true, hasReceiver: true, port: 4},
		"no port of its root stands out":  {showsHosts: true, hasReceiver: true, want: true},
		"no host of the exchange waits":   {},
	} {
		g := stalls.Fabric(t, "fattree:leaves=8,hosts=4,spines=4")
		values := make([]float32, g.NumLinks())
		var exchange, beside []index.Link
		receiver := backpressure.Root{Device: backpressure.NoDevice, Link: schema.NoLink}
		for l := range values {
			a, b := g.Ends(schema.LinkID(l))
			from, to := g.Device(a), g.Device(b)
			leaf := leafOf(from, to)
			isInExchange, isUp, isFromHost := leaf.Name < "leaf5", from.Level == 1 && to.Level == 2, from.Level == 0
			switch {
			case isInExchange && (isUp || isFromHost && c.showsHosts):
				values[l], exchange = 40, append(exchange, index.Link(l))
			case leaf.Name == "leaf6" && isFromHost && c.hosts > 0:
				values[l], beside = c.hosts, append(beside, index.Link(l))
			case leaf.Name == "leaf6" && isFromHost:
				values[l] = c.hosts
			case leaf.Name == "leaf6" && to.Level > 0:
				values[l], beside = 25, append(beside, index.Link(l))
			case leaf.Name == "leaf6" && c.hasReceiver && receiver.Device == backpressure.NoDevice:
				values[l], receiver = c.port, backpressure.Root{Device: index.Device(a), Link: schema.NoLink}
				if c.port >= 5 {
					receiver.Link = schema.LinkID(l)
				}
			}
		}
		if joined := joinsBeside(t, g, values, exchange, beside, receiver); joined != c.want {
			t.Errorf("%s: links beside an exchange are part of it: %v, want %v", name, joined, c.want)
		}
	}
}

// leafOf is the leaf at one end of a link of a leaf-spine.
func leafOf(from, to *topology.Device) *topology.Device {
	if from.Level == 1 {
		return from
	}
	return to
}

// joinsBeside reports whether joinUnfed joins two regions, of which the second has a root.
func joinsBeside(t *testing.T, g *topology.Graph, values []float32, exchange, beside []index.Link, r backpressure.Root) bool {
	t.Helper()
	m := New(g, Config{MinMeanPercent: 5, Overlap: true})
	p := m.patchesOf(values, [][]index.Link{exchange, beside}, []backpressure.Root{{Device: backpressure.NoDevice, Link: schema.NoLink}, r})
	p.joinUnfed(m)
	return p.sets.Find(0) == p.sets.Find(1)
}

// patchesOf makes regions of links, each with a root.
func (m *Method) patchesOf(values []float32, regions [][]index.Link, roots []backpressure.Root) *patches {
	m.measure(values)
	m.findLinks(values)
	m.findCauses()
	p := &m.patches
	p.begin(len(m.Links))
	for k, links := range regions {
		var nodes []index.Node
		for _, l := range links {
			nodes = append(nodes, m.Node[l])
		}
		p.take(m, nodes, roots[k])
	}
	p.sets.Reset(len(p.all))
	return p
}
