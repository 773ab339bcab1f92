package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/simulate/telemetry"
	"github.com/giverny/giverny/topology"
)

// nics are the speeds of a device's NIC, in bytes per second.
type nics struct{ send, receive float64 }

// nicsOf returns the injection and ejection rate of a device's NIC: as given in the
// story, or the sum of its own links. NICs inside the routers of a torus or mesh, which
// have no links of their own, are those of Cray Gemini.
func (f *Fabric) nicsOf(g *topology.Graph, d topology.DeviceID) nics {
	n := nics{f.SendGigabytesPerSecond * 1e9, f.ReceiveGigabytesPerSecond * 1e9}
	if n.send == 0 && !g.IsSwitch(d) {
		n.send = linkSpeed(g, d)
	}
	n.send = cmp.Or(n.send, fluid.DefaultConfig().SendBytesPerSecond)
	n.receive = cmp.Or(n.receive, n.send)
	return n
}

// linkSpeed is the capacity of the links that leave a host, in bytes per second.
func linkSpeed(g *topology.Graph, d topology.DeviceID) (sum float64) {
	for _, l := range g.LinksAt(d) {
		if from, _ := g.Ends(l); from == d {
			sum += g.Capacity(l)
		}
	}
	return sum
}

// sendSpeed is the median send rate of a fabric's hosts.
func (f *Fabric) sendSpeed(g *topology.Graph) float64 {
	var speeds []float64
	for _, d := range g.Hosts() {
		speeds = append(speeds, f.nicsOf(g, d).send)
	}
	slices.Sort(speeds)
	return speeds[len(speeds)/2]
}

// PlayOn moves the story to another fabric, which New is given; from says where its
// topology is from. On a fabric that is not a torus or mesh, Gemini counters become
// InfiniBand's; the story's routing is replaced by the fabric's default. If the
// fabric's hosts have links of their own, NICs have the speed of these, and the jobs'
// traffic is scaled by the ratio of the host speeds, so that a story of full links
// stays one. Hosts, links and switches that this fabric does not have are replaced, see fit,
// and traffic that the fabric carries worse is reduced, see fitLoad.
func (s *Script) PlayOn(g *topology.Graph, from string) error {
	own := *s
	own.Jobs, own.Events = slices.Clone(s.Jobs), slices.Clone(s.Events)
	s.Fabric.Topology, s.Fabric.Routing = from, routing.Default
	if g.Grid() == nil && s.Fabric.Kind == telemetry.Gemini {
		s.Fabric.Kind = telemetry.InfiniBand
	}
	home, err := topology.Parse(own.Fabric.Name, own.Fabric.Topology)
	if err != nil { // a file that has been replaced: only what the story says is known
		home = nil
	} else if err := s.fit(home, g); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if !g.IsSwitch(g.Hosts()[0]) {
		s.Fabric.SendGigabytesPerSecond, s.Fabric.ReceiveGigabytesPerSecond = 0, 0
		if home != nil {
			s.scaleTraffic(s.Fabric.sendSpeed(g) / own.Fabric.sendSpeed(home))
		}
	}
	if home != nil && (home.Grid() == nil) == (g.Grid() == nil) {
		s.fitLoad(&own, home, g)
	}
	return nil
}

// scaleTraffic multiplies the jobs' rates.
func (s *Script) scaleTraffic(by float64) {
	for i := range s.Jobs {
		for k := range s.Jobs[i].Traffic {
			s.Jobs[i].Traffic[k].GigabytesPerSecond *= by
		}
	}
	if w := s.Workload; w != nil {
		w.GigabytesPerSecond *= by
	}
}
