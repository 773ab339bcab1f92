package trees

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// root is where a group's back pressure begins: a switch, and the link that leaves it if known.
type root struct {
	device deviceID      // noDevice: the group has no single root
	link   schema.LinkID // NoLink: an unknown port, full but not stalled
}

// noRoot is the root of a group that has no single one.
var noRoot = root{device: noDevice, link: schema.NoLink}

const (
	noDevice = deviceID(-1)
	// rootWeight is the share of what waits at a cause's leaves that must wait at one of them for it to be the root.
	rootWeight = .6
	// rootPort is the least stall of a port to a host, relative to what waits for it, that makes it the root. Where
	// senders push, they stall more than the port.
	rootPort = .25
)

// rootOf finds the root of a cause that is not an exchange: the leaf, or else the switch, at which most of it waits.
func (m *Method) rootOf(cause causeID) root {
	if _, isPort := m.sinks.sinkOf(cause); isPort { // beside an exchange
		return m.hottestPort(m.sinks.deviceOf(cause), 0)
	}
	best, total := sinkID(-1), 0.
	for _, leaf := range [2]bool{true, false} {
		for a := range m.sinks.all.len() {
			x := &m.sinks.all[a]
			if x.isLeaf != leaf || x.leans || m.causes.causeOf(a) != cause {
				continue
			}
			if m.causes.isOfExchange(a) {
				return noRoot
			}
			total += x.weightOf()
			if best < 0 || x.weightOf() > m.sinks.all[best].weightOf() {
				best = a
			}
		}
		if best >= 0 {
			break
		}
	}
	if best < 0 || m.sinks.all[best].weightOf() < rootWeight*total {
		return noRoot
	}
	x := &m.sinks.all[best]
	if x.hasManyPorts() {
		return noRoot
	}
	if x.link >= 0 {
		return root{device: x.device, link: schema.LinkID(x.link)}
	}
	if only := m.onlyInto(x); only >= 0 {
		return root{device: m.from[only], link: schema.LinkID(m.links[only])}
	}
	return m.hottestPort(x.device, rootPort*x.stall)
}

// onlyInto is the only link that waits at a sink, if it does not come down and no port is stalled there: nothing
// there is full, or other traffic into that switch would wait too. Else it is -1: of the links down to a leaf, only
// few may carry traffic to one host.
func (m *Method) onlyInto(x *sink) nodeID {
	only := nodeID(-1)
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

// weightOf is the stall that waits at a sink, plus its port's.
func (s *sink) weightOf() float64 { return float64(s.links)*s.stall + s.port }

// hottestPort is the most stalled port to a host of a switch, if above least, else the switch with its port unknown.
func (m *Method) hottestPort(device deviceID, least float64) root {
	r := root{device: device, link: schema.NoLink}
	best := least
	for _, l := range m.waits.out.of(device) {
		if i := m.node[l]; i >= 0 && m.port[i] && m.stall[i] > best {
			best, r.link = m.stall[i], schema.LinkID(l)
		}
	}
	return r
}

// Rooter converts the roots of a tree method's groups to the schema's.
type Rooter struct {
	graph  *topology.Graph
	method *Method
	made   []*schema.Root // reused by the next step
	used   int
}

// NewRooter returns the Rooter of a method, for each of its steps.
func NewRooter(g *topology.Graph, m *Method) Rooter { return Rooter{graph: g, method: m} }

// Reset reclaims all roots that Root returned.
func (r *Rooter) Reset() { r.used = 0 }

// Root returns the root of group i of the method's last step, or nil if it has none.
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

// clearlyBusier is the factor by which the busiest port must exceed all others to be taken for the full one.
const clearlyBusier = 1.1

// fullPort is the port most likely to be full at a switch where no port stalls enough to be the root: the one that
// clearly carries most, if the snapshot has loads; else the only stalled port to a host that does not itself send
// into the congestion, or the only such port, stalled or not; NoLink if none is known. A receiver that takes nearly
// all that comes hardly stalls its port, while the senders wait most of the time; and a port of just this switch is
// rarely hot alone. At a higher switch a calm port to an aggregation node is not it: other traffic there goes on to
// other switches.
func (r *Rooter) fullPort(snap *schema.Snapshot, device deviceID) schema.LinkID {
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
	return m.quietPort(device)
}

// quietPort is the port of a switch that is most likely full although it does not stall enough to be the root, by stall
// alone.
func (m *Method) quietPort(device deviceID) schema.LinkID {
	if only := m.onlyPort(device, func(l linkID) bool { return m.node[l] >= 0 }); only != schema.NoLink {
		return only
	}
	if !m.waits.isLeaf(device) {
		return schema.NoLink
	}
	if clearest := m.clearestPort(device); clearest != schema.NoLink {
		return clearest
	}
	return m.onlyPort(device, func(linkID) bool { return true })
}

// clearestFactor is the factor by which the clearest port exceeds all others of its switch, above the calm mean.
const clearestFactor = 2

// clearestPort is the port to a host of a switch that reads clearly more than calm ones, even if less than a stalled link,
// and clearly more than each other port: a receiver that takes nearly all that comes. NoLink if there is none.
func (m *Method) clearestPort(device deviceID) schema.LinkID {
	best, most, second := schema.NoLink, 0., 0.
	for _, l := range m.waits.out.of(device) {
		if !m.waits.toHost(l) || m.values[l] == linkset.Missing {
			continue
		}
		if v := float64(m.values[l]) - m.noise.Mean; v > most {
			best, most, second = schema.LinkID(l), v, most
		} else {
			second = max(second, v)
		}
	}
	if most < HotSigmas*m.noise.Base || most < clearestFactor*second {
		return schema.NoLink
	}
	return best
}

// onlyPort is the only port of a switch that satisfies holds and leads to a host that does not itself send into the
// congestion; NoLink if there is none or several.
func (m *Method) onlyPort(device deviceID, holds func(linkID) bool) schema.LinkID {
	only := schema.NoLink
	for _, l := range m.waits.out.of(device) {
		if !m.waits.toHost(l) || !holds(l) || m.sends(device, m.waits.to[l]) {
			continue
		}
		if only != schema.NoLink {
			return schema.NoLink
		}
		only = schema.LinkID(l)
	}
	return only
}

// sends reports whether a stalled link leads from a host into a switch.
func (m *Method) sends(device, host deviceID) bool {
	for _, l := range m.waits.in.of(device) {
		if m.waits.from[l] == host && m.node[l] >= 0 {
			return true
		}
	}
	return false
}
