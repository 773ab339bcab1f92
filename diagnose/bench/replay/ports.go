package replay

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// ports is how hosts use theirs. A host with more than two has one in every rail: a pair of ranks exchanges over all of
// them, from a port to the one in the same rail, as NCCL does. One with two has them in two planes or on a pair of leaves,
// and a hash of the flow chooses among them (bonding, multipath): there are as many flows as ports.
type ports struct {
	many      int // of a host
	isBonded  bool
	fileRails int                   // of the rails, those that carry file traffic: the first ones
	devices   [][]topology.DeviceID // by host: itself, or its adapters
	out, in   [][]routing.Channel   // by host, in the order of its ports
}

// portsOf finds the ports of a fabric's hosts. On a torus a host has one, its switch's own.
func portsOf(g *topology.Graph) ports {
	p, c, at := ports{many: 1}, routing.NewChannels(g), map[string]int{}
	for _, d := range g.Hosts() {
		name := topology.HostOf(g.Device(d).Name)
		h, known := at[name]
		if !known {
			h, at[name] = len(at), len(at)
			p.devices, p.out, p.in = append(p.devices, nil), append(p.out, nil), append(p.in, nil)
		}
		p.devices[h] = append(p.devices[h], d)
		p.out[h], p.in[h] = append(p.out[h], c.Out(d)...), append(p.in[h], c.In(d)...)
	}
	if !g.IsSwitch(p.devices[0][0]) {
		p.many = len(p.out[0])
	}
	p.isBonded, p.fileRails = p.many == 2, p.many
	return p
}

// withAdapters is a fabric with a device for each port of a host, as InfiniBand's have.
func withAdapters(g *topology.Graph) (*topology.Graph, error) {
	b := topology.NewBuilder(g.Fabric())
	end := func(at topology.DeviceID, port string) (topology.DeviceID, string) {
		d := *g.Device(at)
		if number, err := strconv.Atoi(port); err == nil && !g.IsSwitch(at) {
			d.Name, port = fmt.Sprintf("%s mlx5_%d", d.Name, number-1), "1"
		}
		return b.Device(d), port
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		l.From, l.FromPort = end(l.From, l.FromPort)
		l.To, l.ToPort = end(l.To, l.ToPort)
		b.Link(l)
	}
	return b.Build()
}

// rails lists those over which a job's traffic goes, one flow of a pair over each.
func (p *ports) rails(j *job, t *traffic) (rails []int) {
	if j.hasRail && t.file == noFile {
		return []int{j.rail}
	}
	n := p.many
	if t.file != noFile {
		n = p.fileRails
	}
	for r := range n {
		rails = append(rails, r)
	}
	return rails
}

// flows routes a job's traffic; pairs without a route are left out. The flows of a pair are in the same round.
func (s *scene) flows(router *routing.Router, c *routing.Channels, number int, j *job, t *traffic) []credits.Flow {
	rails, rounds := s.ports.rails(j, t), max(1, t.rounds)
	flows := make([]credits.Flow, 0, len(t.pairs)*len(rails))
	for first := 0; first < len(t.pairs); first += rounds {
		for _, rail := range rails {
			for i := first; i < min(first+rounds, len(t.pairs)); i++ {
				path, ok := s.route(router, c, t.pairs[i], rail, s.seed^uint64(number)<<24^uint64(i))
				if ok && len(path) > 0 {
					from, _ := c.Ends(path[0])
					_, to := c.Ends(path[len(path)-1])
					flows = append(flows, credits.Flow{From: from, To: to, Path: path})
				}
			}
		}
	}
	return flows
}

// route finds the path of a pair's flow in a rail. Where a port of the rail is down, the host uses another one, and where
// that does not reach the rail, as in another plane, both hosts do.
func (s *scene) route(router *routing.Router, c *routing.Channels, pair [2]int, rail int, flow uint64) ([]routing.Channel, bool) {
	if s.ports.many == 1 {
		return router.Append(nil, s.ports.devices[pair[0]][0], s.ports.devices[pair[1]][0], flow)
	}
	out, in := s.ports.out[pair[0]], s.ports.in[pair[1]]
	flow ^= uint64(rail) << 56
	hash := rand.NewPCG(flow, uint64(pair[0])<<32|uint64(pair[1]))
	first, last, n := rail, rail, uint64(s.ports.many)
	if s.ports.isBonded {
		first, last = int(hash.Uint64()%n), int(hash.Uint64()%n)
		_, near := c.Ends(out[first])
		if far, _ := c.Ends(in[first]); near == far { // a leaf delivers to its own hosts
			last = first
		}
	}
	if path, ok := router.AppendBy(nil, out[first], in[last], flow); ok {
		return path, true
	}
	start := int(hash.Uint64() % n)
	for k := range s.ports.many {
		other := (start + k) % s.ports.many
		for _, by := range [][2]int{{first, other}, {other, last}, {other, other}} {
			if path, ok := router.AppendBy(nil, out[by[0]], in[by[1]], flow); ok {
				return path, true
			}
		}
	}
	return nil, false
}

// failPorts breaks or slows ports of a host that has several, a quarter to half of them: their cables, the leaf at which one ends, a
// spine above it, or all spines of a plane. False if the fault is of none of these, but of a cable between switches.
func (d *draft) failPorts(f fault, host int) bool {
	if d.ports.many == 1 {
		return false
	}
	into := d.ports.in[host]
	port := d.rng.IntN(len(into))
	leaf, _ := d.channels.Ends(into[port])
	switch {
	case f.kind != switchDown && d.chance(.5):
		return false // a cable between switches
	case f.kind == degraded:
		d.cut(f, into[port])
	case f.kind == linkDown:
		for k := range d.between(max(1, len(into)/4), len(into)/2) { // an adapter often has two
			d.cut(f, into[(port+k)%len(into)])
		}
	case d.chance(.4):
		d.failSwitches(f, leaf)
	case d.hasPlanes() && d.chance(.5):
		d.failSwitches(f, d.spinesAbove(d.channels, leaf)...)
	default:
		spines := d.spinesAbove(d.channels, leaf)
		d.failSwitches(f, spines[d.rng.IntN(len(spines))])
	}
	return true
}

// hasPlanes reports whether hosts have a port in each of several planes, which share no spine.
func (d *draft) hasPlanes() bool {
	into := d.ports.in[0]
	a, _ := d.channels.Ends(into[0])
	b, _ := d.channels.Ends(into[1])
	return d.spinesAbove(d.channels, a)[0] != d.spinesAbove(d.channels, b)[0]
}
