package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// site is the fabric of an incident, and which of its hosts are taken.
type site struct {
	rng     *rand.Rand
	graph   *topology.Graph
	dims    []int // of a torus, otherwise nil
	ports   ports
	used    []bool
	storage []int
	nextID  int
}

func newSite(rng *rand.Rand, spec string) (*site, error) {
	g, err := topology.Parse("bench", spec)
	if err != nil {
		return nil, err
	}
	s := &site{rng: rng, graph: g, ports: portsOf(g), nextID: 20_000 + rng.IntN(60_000)}
	if s.used = make([]bool, len(s.ports.devices)); g.Grid() != nil {
		s.dims = g.Grid().Dims
	}
	if s.ports.many > 2 {
		if s.chance(.5) {
			if s.graph, err = withAdapters(g); err != nil {
				return nil, err
			}
			s.ports = portsOf(s.graph)
		}
		s.ports.fileRails = s.between(1, 2)
	}
	if n := s.between(3, 6); s.chance(.3) { // side by side, as in a rack of their own
		s.storage = s.run(n)
	} else {
		s.storage = s.scattered(n)
	}
	return s, nil
}

// uniform draws from [low, high).
func (s *site) uniform(low, high float64) float64 { return low + (high-low)*s.rng.Float64() }

// between draws an integer from low to high, both included.
func (s *site) between(low, high int) int { return low + s.rng.IntN(high-low+1) }

func (s *site) chance(p float64) bool { return s.rng.Float64() < p }

// compact takes about n hosts close to each other: a box on a torus, a run elsewhere; fewer, or none, if there is no room.
func (s *site) compact(n int) []int {
	if s.dims == nil {
		return s.run(n)
	}
	side := max(2, min(4, n/8))
	for range 100 {
		var at, size [3]int
		for i, d := range s.dims {
			at[i], size[i] = s.rng.IntN(d), min(side, d)
		}
		size[s.rng.IntN(3)] = max(1, n/(side*side))
		if box := s.box(at, size); box != nil {
			return s.take(box)
		}
	}
	return s.run(n)
}

// box lists the free hosts of a box; nil if more than a quarter are taken.
func (s *site) box(at, size [3]int) (hosts []int) {
	all := 0
	for z := range min(size[2], s.dims[2]) {
		for y := range min(size[1], s.dims[1]) {
			for x := range min(size[0], s.dims[0]) {
				h := (at[0]+x)%s.dims[0] + s.dims[0]*((at[1]+y)%s.dims[1]+s.dims[1]*((at[2]+z)%s.dims[2]))
				if all++; !s.used[h] {
					hosts = append(hosts, h)
				}
			}
		}
	}
	if 4*len(hosts) < 3*all {
		return nil
	}
	return hosts
}

// run takes up to n free hosts in a row.
func (s *site) run(n int) []int {
	start := s.rng.IntN(len(s.used))
	var hosts []int
	for i := range s.used {
		if h := (start + i) % len(s.used); !s.used[h] && len(hosts) < n {
			hosts = append(hosts, h)
		}
	}
	return s.take(hosts)
}

// scattered takes up to n free hosts at random.
func (s *site) scattered(n int) []int {
	var hosts []int
	for _, h := range s.rng.Perm(len(s.used)) {
		if len(hosts) < n && !s.used[h] {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	return s.take(hosts)
}

// either is compact or scattered.
func (s *site) either(n int, scattered float64) []int {
	if s.chance(scattered) {
		return s.scattered(n)
	}
	return s.compact(n)
}

// free is the number of hosts that no job has.
func (s *site) free() (n int) {
	for _, used := range s.used {
		if !used {
			n++
		}
	}
	return n
}

func (s *site) take(hosts []int) []int {
	for _, h := range hosts {
		s.used[h] = true
	}
	return hosts
}

func (s *site) id() string {
	s.nextID += 1 + s.rng.IntN(20)
	return fmt.Sprint(s.nextID)
}

// device is a host itself, or the first of its adapters.
func (s *site) device(host int) topology.DeviceID { return s.ports.devices[host][0] }

// switchOf is the switch of a host, of several any; on a torus the host itself.
func (s *site) switchOf(host int) topology.DeviceID {
	if d := s.device(host); s.graph.IsSwitch(d) {
		return d
	}
	return s.portOf(host).From
}

// portOf is the link to a host, of several any.
func (s *site) portOf(host int) topology.Link {
	into, port := s.ports.in[host], 0
	if s.ports.many > 1 {
		port = s.rng.IntN(len(into))
	}
	return s.graph.Link(schema.LinkID(into[port])) // the links of fabrics with hosts are directed
}

// cableAt is a cable between switches at a switch, as the channel that leaves it.
func (s *site) cableAt(c *routing.Channels, sw topology.DeviceID) routing.Channel {
	var cables []routing.Channel
	for _, ch := range c.Out(sw) {
		if _, to := c.Ends(ch); s.graph.IsSwitch(to) {
			cables = append(cables, ch)
		}
	}
	return cables[s.rng.IntN(len(cables))]
}

// spinesAbove are the switches above one with hosts.
func (s *site) spinesAbove(c *routing.Channels, leaf topology.DeviceID) (spines []topology.DeviceID) {
	for _, ch := range c.Out(leaf) {
		_, to := c.Ends(ch)
		if s.graph.IsSwitch(to) && s.graph.Device(to).Level > s.graph.Device(leaf).Level {
			spines = append(spines, to)
		}
	}
	return spines
}
