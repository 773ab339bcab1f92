package packet

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// hopRange is a path, stored in Sim.hops as the lanes that a packet enters.
type hopRange struct {
	at      uint32
	hops    uint16
	version uint16 // version of the routes
}

// assignLanes gives each class enough virtual channels to keep its routes free of
// cyclic waits: on a torus a packet switches to the second one after the wraparound
// link of a dimension (Dally and Seitz, "Deadlock-Free Message Routing", 1987), on a
// dragonfly to the next after each global link (Kim et al., ISCA 2008).
func (s *Sim) assignLanes() error {
	need := 1
	switch g := s.graph; {
	case g.Grid() != nil && g.Grid().Wrap:
		need = 2
	case s.router.Policy() == routing.Valiant:
		need = 3
	case hasGlobals(g):
		need = 2
	}
	vcs := s.cfg.VirtualChannels
	if vcs == 0 {
		vcs = need
	}
	if vcs*s.cfg.Classes > maxLanes {
		return fmt.Errorf("packet model: classes=%d with %d virtual channels each: at most %d lanes", s.cfg.Classes, vcs, maxLanes)
	}
	s.vcs = vcs
	for s.lanes = 1; s.lanes < vcs*s.cfg.Classes; s.lanes *= 2 {
		s.shift++
	}
	return nil
}

// route finds a path between nodes for a transfer. Transfers of a class between the
// same nodes share a path, except with Valiant routing.
func (s *Sim) route(from, to int32, t *transfer) (hopRange, bool) {
	key := uint64(from)<<32 | uint64(to)<<3 | uint64(t.class)
	shared := s.router.Policy() != routing.Valiant
	if shared {
		if w, ok := s.cached[key]; ok {
			return w, true
		}
	}
	flow := key*0x9e3779b97f4a7c15 ^ uint64(s.cfg.Seed)
	if !shared {
		flow = s.random.Uint64()
	}
	w, ok := s.find(topology.DeviceID(from), topology.DeviceID(to), int(t.class), flow)
	if ok && shared {
		s.cached[key] = w
	}
	return w, ok
}

func (s *Sim) find(from, to topology.DeviceID, class int, flow uint64) (hopRange, bool) {
	path, ok := s.router.Append(s.scratch[:0], from, to, flow)
	s.scratch = path[:0]
	if !ok || len(path) == 0 {
		return hopRange{}, false
	}
	return s.addPath(path, class), true
}

// addPath assigns virtual channels to a path.
func (s *Sim) addPath(path []routing.Channel, class int) hopRange {
	w := hopRange{uint32(len(s.hops)), uint16(len(path)), s.version}
	vc, dim := 0, int8(-1)
	for _, ch := range path {
		l := s.graph.Link(s.routes.Link(ch))
		if l.Class == topology.ClassTorus {
			if l.Dim != dim {
				vc, dim = 0, l.Dim
			}
			if s.wraps(ch, dim) {
				vc = 1
			}
		}
		s.hops = append(s.hops, uint32(ch)<<s.shift|uint32(class*s.vcs+min(vc, s.vcs-1)))
		if l.Class == topology.ClassGlobal {
			vc++
		}
	}
	return w
}

func (s *Sim) wraps(ch routing.Channel, dim int8) bool {
	from, to := s.routes.Ends(ch)
	d := s.graph.Device(from).Coord[dim] - s.graph.Device(to).Coord[dim]
	return d > 1 || d < -1
}

// detour redirects the head of a buffer whose channel is broken; if there is no other
// path the packet is lost and detour returns false.
func (s *Sim) detour(lane int32) bool {
	i := s.buffers[lane].head
	p := &s.pkts[i]
	t := &s.transfers[p.transfer]
	to := t.dst
	if p.role != payload {
		to = t.src
	}
	ch := s.wants(p)
	here, _ := s.routes.Ends(routing.Channel(ch))
	w, ok := s.find(here, topology.DeviceID(to), int(t.class), uint64(p.transfer))
	if !s.inNIC(lane) {
		s.channels[ch].queued -= int64(p.wire)
	}
	if ok && !s.channels[s.hops[w.at]>>s.shift].broken {
		p.path = w
		s.setHop(p, 0)
		if !s.inNIC(lane) {
			s.channels[s.wants(p)].queued += int64(p.wire)
		}
		return true
	}
	b := &s.buffers[lane]
	s.headLeaves(lane)
	b.head = p.next
	s.release(p.from, int64(p.wire), s.now)
	s.drop(i, ch, LostOnLink)
	if b.head != none {
		s.headWaits(lane)
	}
	return false
}

// links are the channels affected by a fault.
func (s *Sim) links(f *Fault) []routing.Channel {
	if f.Link != schema.NoLink {
		return s.routes.Of(f.Link)
	}
	var of []routing.Channel
	for _, l := range s.graph.LinksAt(f.Device) {
		of = append(of, s.routes.Of(l)...)
	}
	return of
}

// Profile hashes the link speeds of paths: paths with equal profiles take the same time
// on an idle fabric.
func (s *Sim) Profile(along Paths) uint64 {
	h := uint64(14695981039346656037)
	for _, path := range [2][]routing.Channel{along.Data, along.Control} {
		for _, ch := range path {
			h = (h ^ math.Float64bits(float64(s.channels[ch].pace))) * 1099511628211
		}
		h = (h ^ uint64(len(path))) * 1099511628211
	}
	return h
}
