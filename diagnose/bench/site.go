package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// site is the fabric of an incident, and which of its hosts are taken.
type site struct {
	rng    *rand.Rand
	graph  *topology.Graph
	dims   []int // of a torus, otherwise nil
	used   []bool
	nextID int
	every  int // one file system node every so many hosts
	script *scenario.Script
}

// Spacing of the file system nodes, and the first of them, as host numbers.
const (
	storageEveryOnTorus = 29
	storageEvery        = 9
	storageFirst        = 3
)

func newSite(rng *rand.Rand, spec string) (*site, error) {
	g, err := topology.Parse("bench", spec)
	if err != nil {
		return nil, err
	}
	s := &site{rng: rng, graph: g, used: make([]bool, len(g.Hosts())), nextID: 1000 + rng.IntN(9000), script: &scenario.Script{Name: "incident"}}
	if s.every = storageEvery; g.Grid() != nil {
		s.dims, s.every = g.Grid().Dims, storageEveryOnTorus
	}
	s.script.Fabric = scenario.Fabric{Name: "bench", Topology: spec, Storage: scenario.Storage{Every: s.every, First: storageFirst}}
	for h := storageFirst; h < len(s.used); h += s.every {
		s.used[h] = true
	}
	return s, nil
}

// uniform draws from [low, high).
func (s *site) uniform(low, high float64) float64 { return low + (high-low)*s.rng.Float64() }

// between draws an integer from low to high, both included.
func (s *site) between(low, high int) int { return low + s.rng.IntN(high-low+1) }

func (s *site) chance(p float64) bool { return s.rng.Float64() < p }

// compact takes about n adjacent hosts: a box on a torus, a run elsewhere. It returns fewer, or none, if there is no
// room.
func (s *site) compact(n int) []int {
	if s.dims == nil {
		return s.run(n)
	}
	x := s.between(2, 4)
	y := s.between(2, 4)
	return s.box([3]int{x, y, max(1, (n+x*y-1)/(x*y))})
}

// box takes a free box of a torus, without the file system nodes in it.
func (s *site) box(size [3]int) []int {
	for i, d := range s.dims {
		size[i] = min(size[i], d)
	}
	for range 200 {
		at := [3]int{s.rng.IntN(s.dims[0]), s.rng.IntN(s.dims[1]), s.rng.IntN(s.dims[2])}
		var hosts []int
		free := true
		for i := range size[0] * size[1] * size[2] {
			h := s.number(at[0]+i%size[0], at[1]+i/size[0]%size[1], at[2]+i/size[0]/size[1])
			if s.used[h] && !s.isStorage(h) {
				free = false
				break
			}
			if !s.used[h] {
				hosts = append(hosts, h)
			}
		}
		if free {
			return s.take(hosts)
		}
	}
	return nil
}

func (s *site) isStorage(host int) bool {
	return host >= storageFirst && (host-storageFirst)%s.every == 0
}

// number is the host at a coordinate of the torus, which wraps round.
func (s *site) number(x, y, z int) int {
	return x%s.dims[0] + s.dims[0]*(y%s.dims[1]+s.dims[1]*(z%s.dims[2]))
}

// run takes up to n free hosts in a row.
func (s *site) run(n int) []int {
	start := s.rng.IntN(len(s.used))
	var hosts []int
	for i := range s.used {
		if h := (start + i) % len(s.used); !s.used[h] {
			if hosts = append(hosts, h); len(hosts) == n {
				break
			}
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
	return s.take(hosts)
}

// split divides hosts between two jobs at random.
func (s *site) split(hosts []int) (a, b []int) {
	for i, at := range s.rng.Perm(len(hosts)) {
		if i%2 == 0 {
			a = append(a, hosts[at])
		} else {
			b = append(b, hosts[at])
		}
	}
	return a, b
}

func (s *site) take(hosts []int) []int {
	for _, h := range hosts {
		s.used[h] = true
	}
	return hosts
}

// hostList formats hosts as in scenario.Job.
func hostList(hosts []int) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = strconv.Itoa(h)
	}
	return strings.Join(names, ",")
}

// job adds a job on the hosts and returns it; nil if there are fewer than two.
func (s *site) job(name string, hosts []int, traffic ...scenario.Traffic) *scenario.Job {
	if len(hosts) < 2 {
		return nil
	}
	s.nextID += 1 + s.rng.IntN(40)
	s.script.Jobs = append(s.script.Jobs, scenario.Job{ID: fmt.Sprint(s.nextID), Name: name, User: fmt.Sprintf("user%02d", s.rng.IntN(40)),
		Hosts: hostList(hosts), Traffic: traffic})
	return &s.script.Jobs[len(s.script.Jobs)-1]
}
