package trees

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

const (
	// rootWeight is the share of what waits at a cause's leaves that must wait at one of them for it to be the root.
	rootWeight = .6
	// rootPort is the least stall of a port to a host, relative to what waits for it, that makes it the root. Where
	// senders push, they stall more than the port.
	rootPort = .25
)

// rootOf finds the root of a cause that is not an exchange: the leaf, or else the switch, at which most of it waits.
func (m *Method) rootOf(cause causeID) backpressure.Root {
	if _, isPort := m.sinks.sinkOf(cause); isPort { // beside an exchange
		return m.hottestPort(m.sinks.deviceOf(cause), 0)
	}
	best, total := sinkID(-1), 0.
	for _, leaf := range [2]bool{true, false} {
		for a := range m.sinks.all.Len() {
			x := &m.sinks.all[a]
			if x.isLeaf != leaf || x.leans || m.causes.causeOf(a) != cause {
				continue
			}
			if m.causes.isOfExchange(a) {
				return backpressure.NoRoot
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
		return backpressure.NoRoot
	}
	x := &m.sinks.all[best]
	if x.hasManyPorts() {
		return backpressure.NoRoot
	}
	if x.link >= 0 {
		return backpressure.Root{Device: x.device, Link: schema.LinkID(x.link)}
	}
	if only := m.onlyInto(x); only >= 0 {
		return backpressure.Root{Device: m.From[only], Link: schema.LinkID(m.Links[only])}
	}
	return m.hottestPort(x.device, rootPort*x.stall)
}

// onlyInto is the only link that waits at a sink, if it does not come down and no port is stalled there: nothing
// there is full, or other traffic into that switch would wait too. Else it is -1: of the links down to a leaf, only
// few may carry traffic to one host.
func (m *Method) onlyInto(x *sink) index.Node {
	only := index.Node(-1)
	if x.port > 0 {
		return only
	}
	for _, i := range m.Into.Of(x.device) {
		if m.sink[i] != x.place {
			continue
		}
		if only >= 0 || m.FromHost(i) || m.Graph.Level[m.From[i]] > m.Graph.Level[x.device] {
			return -1
		}
		only = i
	}
	return only
}

// weightOf is the stall that waits at a sink, plus its port's.
func (s *sink) weightOf() float64 { return float64(s.links)*s.stall + s.port }

// hottestPort is the most stalled port to a host of a switch, if above least, else the switch with its port unknown.
func (m *Method) hottestPort(device index.Device, least float64) backpressure.Root {
	r := backpressure.Root{Device: device, Link: schema.NoLink}
	best := least
	for _, l := range m.Graph.Out.Of(device) {
		if i := m.Node[l]; i >= 0 && m.port[i] && m.Stall[i] > best {
			best, r.Link = m.Stall[i], schema.LinkID(l)
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
	if r.method == nil || r.method.regions.Roots[i].Device == backpressure.NoDevice {
		return nil
	}
	at := r.method.regions.Roots[i]
	if at.Link == schema.NoLink {
		at.Link = r.fullPort(snap, at.Device)
	}
	if r.used == len(r.made) {
		r.made = append(r.made, new(schema.Root))
	}
	out := r.made[r.used]
	r.used++
	*out = schema.Root{Device: r.graph.Device(topology.DeviceID(at.Device)).Name, Link: at.Link}
	if at.Link != schema.NoLink {
		link := r.graph.Link(at.Link)
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
func (r *Rooter) fullPort(snap *schema.Snapshot, device index.Device) schema.LinkID {
	m := r.method
	for _, metric := range [2]schema.Metric{schema.BandwidthUsed, schema.Throughput} {
		load := snap.Find(metric)
		if load == nil {
			continue
		}
		best, most, second := schema.NoLink, float32(0), float32(0)
		for _, l := range m.Graph.Out.Of(device) {
			if m.Node[l] >= 0 || !load.Valid.Has(int(l)) || m.Graph.IsLeaf(device) && !m.Graph.ToHost(l) {
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
func (m *Method) quietPort(device index.Device) schema.LinkID {
	if only := m.onlyPort(device, func(l index.Link) bool { return m.Node[l] >= 0 }); only != schema.NoLink {
		return only
	}
	if !m.Graph.IsLeaf(device) {
		return schema.NoLink
	}
	if clearest := m.clearestPort(device); clearest != schema.NoLink {
		return clearest
	}
	return m.onlyPort(device, func(index.Link) bool { return true })
}

// clearestFactor is the factor by which the clearest port exceeds all others of its switch, above the calm mean.
const clearestFactor = 2

// clearestPort is the port to a host of a switch that reads clearly more than calm ones, even if less than a stalled link,
// and clearly more than each other port: a receiver that takes nearly all that comes. NoLink if there is none.
func (m *Method) clearestPort(device index.Device) schema.LinkID {
	best, most, second := schema.NoLink, 0., 0.
	for _, l := range m.Graph.Out.Of(device) {
		if !m.Graph.ToHost(l) || m.Values[l] == linkset.Missing {
			continue
		}
		if v := float64(m.Values[l]) - m.Noise.Mean; v > most {
			best, most, second = schema.LinkID(l), v, most
		} else {
			second = max(second, v)
		}
	}
	if most < HotSigmas*m.Noise.Base || most < clearestFactor*second {
		return schema.NoLink
	}
	return best
}

// onlyPort is the only port of a switch that satisfies holds and leads to a host that does not itself send into the
// congestion; NoLink if there is none or several.
func (m *Method) onlyPort(device index.Device, holds func(index.Link) bool) schema.LinkID {
	only := schema.NoLink
	for _, l := range m.Graph.Out.Of(device) {
		if !m.Graph.ToHost(l) || !holds(l) || m.sends(device, m.Graph.To[l]) {
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
func (m *Method) sends(device, host index.Device) bool {
	for _, l := range m.Graph.In.Of(device) {
		if m.Graph.From[l] == host && m.Node[l] >= 0 {
			return true
		}
	}
	return false
}
