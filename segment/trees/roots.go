package trees

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// root is where a group's back pressure begins: a switch, and the link that leaves it if that is known.
type root struct {
	device int32         // noDevice: the group has no one root
	link   schema.LinkID // NoLink: a port that is full and does not stall
}

const (
	noDevice = int32(-1)
	// rootWeight is the part of what waits at leaves that must wait at one of them for it to be the root.
	rootWeight = .6
	// rootPort is the least stall of a port to a host, of what waits for it, that makes it the root. Where senders push,
	// they stall more than it does.
	rootPort = .25
)

// rootOf finds the root of a cause: the leaf, or else the switch, at which most of it waits, if it is no
// exchange of all with all.
func (m *Method) rootOf(cause int32) root {
	n := int32(len(m.sinks.all))
	if cause >= n { // a port beside an exchange
		return m.hottestPort(m.sinks.all[cause-n].device, 0)
	}
	best, total := noDevice, 0.
	for _, leaf := range [2]bool{true, false} {
		for a := range m.sinks.all {
			x := &m.sinks.all[a]
			if x.isLeaf != leaf || x.leans || m.causes.sets.Find(int32(a)) != cause {
				continue
			}
			if m.causes.levels[m.causes.level.Find(int32(a))].isExchange() {
				return root{device: noDevice, link: schema.NoLink}
			}
			total += x.weightOf()
			if best < 0 || x.weightOf() > m.sinks.all[best].weightOf() {
				best = int32(a)
			}
		}
		if best >= 0 {
			break
		}
	}
	if best < 0 || m.sinks.all[best].weightOf() < rootWeight*total {
		return root{device: noDevice, link: schema.NoLink}
	}
	x := &m.sinks.all[best]
	if x.hasManyPorts() {
		return root{device: noDevice, link: schema.NoLink}
	}
	if x.odd >= 0 {
		return root{device: x.device, link: schema.LinkID(x.odd)}
	}
	if only := m.onlyInto(x); only >= 0 {
		return root{device: m.from[only], link: schema.LinkID(m.links[only])}
	}
	return m.hottestPort(x.device, rootPort*x.stall)
}

// onlyInto is the one link that waits at a sink, if it comes from a switch that is no higher and no port is stalled there:
// nothing is full that other traffic into that switch would wait for, too. It is -1 otherwise: of links down to a leaf,
// those that carry traffic to one host may be few.
func (m *Method) onlyInto(x *sink) int32 {
	only := int32(-1)
	if x.port > 0 {
		return only
	}
	for _, i := range m.into.of(x.device) {
		if m.sink[i] != x.place {
			continue
		}
		if only >= 0 || m.fromHost(i) || m.waits.level[m.from[i]] > m.waits.level[x.device] {
			return -1
		}
		only = i
	}
	return only
}

// weightOf is the stall that waits at a sink, and its port's.
func (s *sink) weightOf() float64 { return float64(s.links)*s.stall + s.port }

// hottestPort is the stalled port to a host of a switch, or the switch with its port open.
func (m *Method) hottestPort(device int32, least float64) root {
	r := root{device: device, link: schema.NoLink}
	best := least
	for _, l := range m.waits.out.of(device) {
		if i := m.node[l]; i >= 0 && m.port[i] && m.stall[i] > best {
			best, r.link = m.stall[i], schema.LinkID(l)
		}
	}
	return r
}

// Rooter writes the roots of a tree method's groups in the words of regions.
type Rooter struct {
	graph  *topology.Graph
	method *Method
	made   []*schema.Root // used again by the next step
	used   int
}

// NewRooter makes the rooter of a method; it follows each of its steps.
func NewRooter(g *topology.Graph, m *Method) Rooter { return Rooter{graph: g, method: m} }

// Reset takes back all roots that were given.
func (r *Rooter) Reset() { r.used = 0 }

// Root is that of group i of the method's last step, nil if it has none.
func (r *Rooter) Root(snap *schema.Snapshot, i int) *schema.Root {
	if r.method == nil || r.method.roots[i].device == noDevice {
		return nil
	}
	at := r.method.roots[i]
	if at.link == schema.NoLink {
		at.link = r.fullPort(snap, at.device)
	}
	if r.used == len(r.made) {
		r.made = append(r.made, new(schema.Root))
	}
	out := r.made[r.used]
	r.used++
	*out = schema.Root{Device: r.graph.Device(topology.DeviceID(at.device)).Name, Link: at.link}
	if at.link != schema.NoLink {
		link := r.graph.Link(at.link)
		out.Port, out.Peer = link.FromPort, r.graph.Device(link.To).Name
	}
	return out
}

// clearlyBusier is by how much the port that carries most must do so to be taken for the one that is full.
const clearlyBusier = 1.1

// fullPort is the port that most probably is full at a switch where none that stalls enough is the root: the one that clearly
// carries most, if the snapshot has loads; else the only one that stalls of those to hosts that do not themselves send into the
// congestion, or the only one of those; NoLink if none is known. A receiver that takes nearly all that comes hardly stalls its
// port, while those who push wait most of the time. That a port of just this switch is hot alone is rare. At a higher switch a calm
// port to an aggregation node is not it: all else that comes goes on to other switches.
func (r *Rooter) fullPort(snap *schema.Snapshot, device int32) schema.LinkID {
	m := r.method
	for _, metric := range [2]schema.Metric{schema.BandwidthUsed, schema.Throughput} {
		load := snap.Find(metric)
		if load == nil {
			continue
		}
		best, most, second := schema.NoLink, float32(0), float32(0)
		for _, l := range m.waits.out.of(device) {
			if m.node[l] >= 0 || !load.Valid.Has(int(l)) || m.waits.isLeaf(device) && !m.waits.toHost(l) {
				continue
			}
			if v := load.Values[l]; v > most {
				best, most, second = schema.LinkID(l), v, most
			} else {
				second = max(second, v)
			}
		}
		if best != schema.NoLink && most >= clearlyBusier*second {
			return best
		}
	}
	if only := r.onlyPort(device, func(l int32) bool { return m.node[l] >= 0 }); only != schema.NoLink {
		return only
	}
	if !m.waits.isLeaf(device) {
		return schema.NoLink
	}
	return r.onlyPort(device, func(int32) bool { return true })
}

// onlyPort is the one port of a switch to a host that does not itself send into the congestion and of which a condition holds,
// NoLink if there is none or several.
func (r *Rooter) onlyPort(device int32, holds func(int32) bool) schema.LinkID {
	only := schema.NoLink
	for _, l := range r.method.waits.out.of(device) {
		if !r.method.waits.toHost(l) || !holds(l) || r.sends(device, r.method.waits.to[l]) {
			continue
		}
		if only != schema.NoLink {
			return schema.NoLink
		}
		only = schema.LinkID(l)
	}
	return only
}

// sends reports whether traffic of a host into a switch is stalled.
func (r *Rooter) sends(device, host int32) bool {
	for _, l := range r.method.waits.in.of(device) {
		if r.method.waits.from[l] == host && r.method.node[l] >= 0 {
			return true
		}
	}
	return false
}
