package routing

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Policy is a routing policy.
type Policy string

// Policies.
const (
	Default     Policy = ""            // Directional on grids, Minimal on dragonflies, ECMP elsewhere
	Directional Policy = "directional" // X, then Y, then Z, the shorter way round each
	DModK       Policy = "dmodk"       // shortest paths; the destination's number chooses among equals
	ECMP        Policy = "ecmp"        // shortest paths; a hash of the flow chooses among equals
	Minimal     Policy = "minimal"     // dragonfly: at most one global channel
	Valiant     Policy = "valiant"     // dragonfly: minimal to a random group, then minimal
)

// Router computes paths by one policy. If a path contains a channel that is down, it
// uses a shortest path around it. It is not safe for concurrent use.
type Router struct {
	channels *Channels
	shortest shortest
	native   func(path []Channel, src, dst topology.DeviceID, flow uint64) ([]Channel, bool) // between switches
	policy   Policy
	rank     []uint32 // of a device among the hosts, for DModK
}

// New returns a router over the channels, whose state it follows.
func New(c *Channels, policy Policy) (*Router, error) {
	g := c.graph
	if policy == Default {
		policy = defaultPolicy(g)
	}
	r := &Router{channels: c, policy: policy, shortest: newShortest(c)}
	switch policy {
	case Directional:
		if g.Grid() == nil {
			return nil, fmt.Errorf("routing %s: fabric %q has no coordinates; use %s or %s", policy, g.Fabric(), ECMP, DModK)
		}
		r.native = newGridTable(c).route
	case DModK:
		r.rank = hostRanks(g)
	case ECMP:
	case Minimal, Valiant:
		table, err := newGroupTable(c)
		if err != nil {
			return nil, fmt.Errorf("routing %s: %w", policy, err)
		}
		r.native = table.minimal
		if policy == Valiant {
			r.native = table.valiant
		}
	default:
		return nil, fmt.Errorf("routing %q: want %s, %s, %s, %s or %s", policy, Directional, DModK, ECMP, Minimal, Valiant)
	}
	return r, nil
}

// Policy is the effective policy.
func (r *Router) Policy() Policy { return r.policy }

// Append appends to path the channels from src to dst. Policies that hash spread flows
// by the arbitrary number flow. It returns false, and appends nothing, if there is no
// path; the path from a device to itself is empty.
func (r *Router) Append(path []Channel, src, dst topology.DeviceID, flow uint64) ([]Channel, bool) {
	start := len(path)
	if src == dst {
		return path, true
	}
	first, last := NoChannel, NoChannel
	from, to := src, dst
	if g := r.channels.graph; !g.IsSwitch(src) || !g.IsSwitch(dst) {
		if first, from = r.attach(src, flow); from == src && !g.IsSwitch(src) {
			return path, false
		}
		if last, to = r.detach(dst, flow); to == dst && !g.IsSwitch(dst) {
			return path, false
		}
	}
	if first != NoChannel {
		path = append(path, first)
	}
	path, ok := r.between(path, from, to, dst, flow)
	if !ok {
		return r.byAnyPorts(path[:start], src, dst, flow)
	}
	if last != NoChannel {
		path = append(path, last)
	}
	return path, true
}

// byAnyPorts appends a path by any ports of two hosts that have one: ports in different planes have none.
func (r *Router) byAnyPorts(path []Channel, src, dst topology.DeviceID, flow uint64) ([]Channel, bool) {
	if g := r.channels.graph; g.IsSwitch(src) || g.IsSwitch(dst) {
		return path, false
	}
	out, in := r.channels.Out(src), r.channels.In(dst)
	for i := range out {
		for k := range in {
			first, last := (mix(flow)+uint64(i))%uint64(len(out)), (mix(flow)+uint64(i+k))%uint64(len(in))
			if path, ok := r.AppendBy(path, out[first], in[last], flow); ok {
				return path, true
			}
		}
	}
	return path, false
}

// AppendBy is Append from a host to another by the ports that the first channel leaves and the last one enters.
func (r *Router) AppendBy(path []Channel, first, last Channel, flow uint64) ([]Channel, bool) {
	c, start := r.channels, len(path)
	if !c.up[first] || !c.up[last] {
		return path, false
	}
	path, ok := r.between(append(path, first), c.to[first], c.from[last], c.to[last], flow)
	if !ok {
		return path[:start], false
	}
	return append(path, last), true
}

// between appends a path from switch to switch; dst is the device behind the last.
func (r *Router) between(path []Channel, from, to, dst topology.DeviceID, flow uint64) ([]Channel, bool) {
	if from == to {
		return path, true
	}
	start := len(path)
	if r.native != nil {
		if p, ok := r.native(path, from, to, flow); ok && r.channels.Intact(p[start:]) {
			return p, true
		}
		return r.shortest.route(path[:start], from, to, hashed(0)) // the first of the shortest paths, always the same one
	}
	if r.policy == DModK {
		digits := destinationDigits(r.rank[dst])
		return r.shortest.route(path, from, to, digits.choose)
	}
	return r.shortest.route(path, from, to, hashed(flow))
}

// attach chooses a host's channel into the fabric among those that are up; a switch has
// none.
func (r *Router) attach(d topology.DeviceID, flow uint64) (Channel, topology.DeviceID) {
	if r.channels.graph.IsSwitch(d) {
		return NoChannel, d
	}
	return r.pick(r.channels.Out(d), flow, d, func(ch Channel) topology.DeviceID { return r.channels.to[ch] })
}

// detach is attach for the channel out of the fabric into a host.
func (r *Router) detach(d topology.DeviceID, flow uint64) (Channel, topology.DeviceID) {
	if r.channels.graph.IsSwitch(d) {
		return NoChannel, d
	}
	return r.pick(r.channels.In(d), flow, d, func(ch Channel) topology.DeviceID { return r.channels.from[ch] })
}

func (r *Router) pick(candidates []Channel, flow uint64, d topology.DeviceID, far func(Channel) topology.DeviceID) (Channel, topology.DeviceID) {
	n := 0
	for _, ch := range candidates {
		if r.channels.up[ch] {
			n++
		}
	}
	if n == 0 {
		return NoChannel, d
	}
	skip := 0
	if n > 1 {
		skip = int(mix(flow) % uint64(n))
	}
	for _, ch := range candidates {
		if !r.channels.up[ch] {
			continue
		}
		if skip == 0 {
			return ch, far(ch)
		}
		skip--
	}
	panic("routing: a channel that was counted is gone")
}

func defaultPolicy(g *topology.Graph) Policy {
	if g.Grid() != nil {
		return Directional
	}
	for l := range g.NumLinks() {
		if g.Link(schema.LinkID(l)).Class == topology.ClassGlobal {
			return Minimal
		}
	}
	return ECMP
}

func hostRanks(g *topology.Graph) []uint32 {
	rank := make([]uint32, g.NumDevices())
	for i, h := range g.Hosts() {
		rank[h] = uint32(i)
	}
	return rank
}

// mix is the finaliser of splitmix64 (Steele et al., OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
