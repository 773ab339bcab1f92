package packet

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// lanes numbers the lanes of all channels: those of channel c are c<<shift and the next ones.
type lanes struct {
	perChannel int  // a power of two
	shift      uint // log2 of perChannel
	perClass   int  // virtual channels
}

// channel is the channel of a lane.
func (l lanes) channel(lane int32) int32 { return lane >> l.shift }

// newLanes gives each class enough virtual channels to keep its routes free of
// cyclic waits: on a torus a packet switches to the second one after the wraparound
// link of a dimension (Dally and Seitz, "Deadlock-Free Message Routing", 1987), on a
// dragonfly to the next after each global link (Kim et al., ISCA 2008).
func newLanes(g *topology.Graph, policy routing.Policy, cfg Config) (lanes, error) {
	need := 1
	switch {
	case g.Grid() != nil && g.Grid().Wrap:
		need = 2
	case policy == routing.Valiant:
		need = 3
	case hasGlobals(g):
		need = 2
	}
	vcs := cmp.Or(cfg.VirtualChannels, need)
	if vcs*cfg.Classes > maxLanes {
		return lanes{}, fmt.Errorf("packet model: classes=%d with %d virtual channels each: at most %d lanes", cfg.Classes, vcs, maxLanes)
	}
	l := lanes{perChannel: 1, perClass: vcs}
	for ; l.perChannel < vcs*cfg.Classes; l.perChannel *= 2 {
		l.shift++
	}
	return l, nil
}

func hasGlobals(g *topology.Graph) bool {
	for l := range g.NumLinks() {
		if g.Link(schema.LinkID(l)).Class == topology.ClassGlobal {
			return true
		}
	}
	return false
}

// hopRange is a path, stored in paths.hops as the lanes that a packet enters.
type hopRange struct {
	at      uint32
	hops    uint16
	version uint16 // version of the routes
}

// paths are the paths of all transfers, on the links that are up.
type paths struct {
	lanes
	graph   *topology.Graph
	routes  *routing.Channels
	router  *routing.Router
	random  *rand.Rand
	seed    uint64
	hops    []uint32 // arena of hops: lanes
	cached  map[uint64]hopRange
	version uint16 // of the routes
	scratch []routing.Channel
}

func newPaths(g *topology.Graph, cfg Config, random *rand.Rand) (*paths, error) {
	p := &paths{graph: g, routes: routing.NewChannels(g), random: random, seed: uint64(cfg.Seed), cached: map[uint64]hopRange{}}
	policy := cfg.Routing
	if policy == routing.Default && g.Grid() == nil && !hasGlobals(g) {
		policy = routing.DModK
	}
	var err error
	if p.router, err = routing.New(p.routes, policy); err != nil {
		return nil, fmt.Errorf("packet model: %w", err)
	}
	if p.lanes, err = newLanes(g, p.router.Policy(), cfg); err != nil {
		return nil, err
	}
	return p, nil
}

// ofData and ofControl ensure that a transfer's data, and its control packets, have a path
// that avoids failures.
func (p *paths) ofData(t *transfer) bool { return p.renew(&t.path, t.src, t.dst, t) }

func (p *paths) ofControl(t *transfer) bool { return p.renew(&t.controlPath, t.dst, t.src, t) }

func (p *paths) renew(path *hopRange, from, to int32, t *transfer) bool {
	if path.hops > 0 && path.version == p.version {
		return true
	}
	found, ok := p.route(from, to, t)
	if ok {
		*path = found
	}
	return ok
}

// route finds a path between nodes for a transfer. Transfers of a class between the
// same nodes share a path, except with Valiant routing.
func (p *paths) route(from, to int32, t *transfer) (hopRange, bool) {
	key := uint64(from)<<32 | uint64(to)<<3 | uint64(t.class)
	shared := p.router.Policy() != routing.Valiant
	if shared {
		if w, ok := p.cached[key]; ok {
			return w, true
		}
	}
	flow := key*0x9e3779b97f4a7c15 ^ p.seed
	if !shared {
		flow = p.random.Uint64()
	}
	w, ok := p.find(topology.DeviceID(from), topology.DeviceID(to), int(t.class), flow)
	if ok && shared {
		p.cached[key] = w
	}
	return w, ok
}

func (p *paths) find(from, to topology.DeviceID, class int, flow uint64) (hopRange, bool) {
	path, ok := p.router.Append(p.scratch[:0], from, to, flow)
	p.scratch = path[:0]
	if !ok || len(path) == 0 {
		return hopRange{}, false
	}
	return p.add(path, class), true
}

// given validates and adds a path that the user gave; an empty one is left to the router.
func (p *paths) given(path []routing.Channel, from, to int32, class int) (hopRange, error) {
	if len(path) == 0 {
		return hopRange{}, nil
	}
	at := topology.DeviceID(from)
	for _, ch := range path {
		start, end := p.routes.Ends(ch)
		if start != at || !p.routes.Up(ch) {
			return hopRange{}, fmt.Errorf("path from %q: link %q does not go on from %q, or is down", p.graph.Device(topology.DeviceID(from)).Name, p.routes.Name(ch), p.graph.Device(at).Name)
		}
		at = end
	}
	if at != topology.DeviceID(to) {
		return hopRange{}, fmt.Errorf("path to %q: it ends at %q", p.graph.Device(topology.DeviceID(to)).Name, p.graph.Device(at).Name)
	}
	return p.add(path, class), nil
}

// add assigns virtual channels to a path.
func (p *paths) add(path []routing.Channel, class int) hopRange {
	w := hopRange{uint32(len(p.hops)), uint16(len(path)), p.version}
	vc, dim := 0, int8(-1)
	for _, ch := range path {
		l := p.graph.Link(p.routes.Link(ch))
		if l.Class == topology.ClassTorus {
			if l.Dim != dim {
				vc, dim = 0, l.Dim
			}
			if p.wraps(ch, dim) {
				vc = 1
			}
		}
		p.hops = append(p.hops, uint32(ch)<<p.shift|uint32(class*p.perClass+min(vc, p.perClass-1)))
		if l.Class == topology.ClassGlobal {
			vc++
		}
	}
	return w
}

func (p *paths) wraps(ch routing.Channel, dim int8) bool {
	from, to := p.routes.Ends(ch)
	d := p.graph.Device(from).Coord[dim] - p.graph.Device(to).Coord[dim]
	return d > 1 || d < -1
}

// first is the channel with which a path begins.
func (p *paths) first(w hopRange) int32 { return p.channel(int32(p.hops[w.at])) }

// enter moves a packet to lane number hop of its path.
func (p *paths) enter(k *pkt, hop uint16) {
	k.hop = hop
	k.lane = int32(p.hops[k.path.at+uint32(hop)])
}

func (p *paths) channelsOf(w hopRange) (path []routing.Channel) {
	for _, lane := range p.hops[w.at : w.at+uint32(w.hops)] {
		path = append(path, routing.Channel(lane>>p.shift))
	}
	return path
}

// setUp adds a channel to the routes or removes it from them.
func (p *paths) setUp(ch routing.Channel, up bool) {
	if p.routes.Up(ch) != up {
		p.routes.SetUp(ch, up)
		p.version++
		clear(p.cached)
	}
}

// affected are the channels that a fault changes.
func (p *paths) affected(f *Fault) []routing.Channel {
	if f.Link != schema.NoLink {
		return p.routes.Of(f.Link)
	}
	var of []routing.Channel
	for _, l := range p.graph.LinksAt(f.Device) {
		of = append(of, p.routes.Of(l)...)
	}
	return of
}
