package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// BackPressure is where the stall of a region begins, as far as it can be followed: at a port, the root, which may be
// one of a cycle of ports. Without a root, two less sure answers may be known instead; the port is the better one.
type BackPressure struct {
	Root  Port            // its Kind is empty if none is known
	Cycle []schema.LinkID // of a deadlock: the links that wait for each other, in order; Root is the first
	// Without a root: where the largest part with a known port begins, of empty Kind if there is none, and where the
	// largest part ends.
	Leading Port
	Switch  Switch

	ends []stallEnd // all of it
}

// stallEnd is a part of a region's stall, and the switch or host where it ends.
type stallEnd struct {
	device topology.DeviceID
	stall  float64
}

// Port is a port where back pressure may begin.
type Port struct {
	Link   schema.LinkID // that leaves it; schema.NoLink: not known
	Kind   string        // as schema.Root.Kind; empty: nothing begins there
	Use    float64       // percent of its capacity; -1: not measured
	Stall  float64       // percent of time that it stalls itself; 0 also if not measured
	Slower bool          // it carries clearly less than before the onset
	Cannot bool          // it sends less than its capacity although traffic waits for it
	Share  float64       // of the region's stall that leads to it
}

// noPort is a port that is not known.
var noPort = Port{Link: schema.NoLink, Use: -1}

// IsFull reports whether a port carries nearly its capacity.
func (p *Port) IsFull() bool { return p.Use >= fullPercent }

// Switch is a switch where stall ends for which it is not known for which of the ports it waits.
type Switch struct {
	Device topology.DeviceID
	Kind   string        // of a root there, as schema.Root.Kind; empty: not known
	Share  float64       // of the region's stall that ends there so; 0: none
	slow   schema.LinkID // its port to a cable that lost rate, if stall alone shows that; else NoLink
}

// HasMost reports whether most of a region's stall ends at the switch.
func (s *Switch) HasMost() bool { return s.Share >= rootShare }

// HasRoot reports whether the port where it begins is known.
func (b *BackPressure) HasRoot() bool { return b.Root.Kind != "" }

// HasSwitch reports whether most of the stall ends at a switch, with a known kind of root, but not a known port.
func (b *BackPressure) HasSwitch() bool {
	return !b.HasRoot() && b.Switch.HasMost() && b.Switch.Kind != ""
}

// SlowCable is the port, at the switch where most of the stall ends, of a cable that lost rate, if stall alone shows
// that; else NoLink.
func (b *BackPressure) SlowCable() schema.LinkID {
	if !b.HasSwitch() {
		return schema.NoLink
	}
	return b.Switch.slow
}

// IsIncast reports whether more arrives for a host than its port can deliver, also if it is not known for which host of
// a switch.
func (b *BackPressure) IsIncast() bool {
	return b.Root.Kind == schema.RootIncast || b.HasSwitch() && b.Switch.Kind == schema.RootIncast
}

// EndsAt sums up the followed stall that ends at the switches that some links of the graph leave.
func (b *BackPressure) EndsAt(links []schema.LinkID, g *topology.Graph) (stall float64) {
	for _, end := range b.ends {
		for _, l := range links {
			if at, _ := g.Ends(l); at == end.device {
				stall += end.stall
			}
		}
	}
	return stall
}
