package pattern

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// shape holds the arguments of a built-in pattern.
type shape struct {
	n, rounds int
	bytes     int64
	seed      uint64
	dims      []int
}

// builtin is a built-in pattern.
type builtin struct {
	name, about string
	keys        []string // in addition to processes, per-node and bytes
	check       func(*shape) error
	machine     func(s *shape, id int) machine
}

var builtins = []builtin{
	{"ring", "every process puts to the next", []string{"rounds"}, nil, ring},
	{"random-ring", "a ring in random order (HPC Challenge)", []string{"rounds", "seed"}, nil, randomRing},
	{"incast", "all put to process 0", []string{"rounds"}, nil, incast},
	{"all-to-all", "every process puts to every other", []string{"rounds"}, nil, allToAll},
	{"halo", "neighbours on a periodic grid exchange faces of that many bytes", []string{"rounds", "dims"}, checkHalo, halo},
	{"allreduce-ring", "reduce-scatter and all-gather around a ring", nil, nil, allReduceRing},
	{"allreduce-halving", "recursive halving and doubling", nil, checkPower, allReduceHalving},
	{"barrier", "nothing but barriers", []string{"rounds"}, nil, barrierOnly},
}

// Builtins describes the built-in patterns, one line each.
func Builtins() []string {
	var lines []string
	for _, b := range builtins {
		lines = append(lines, fmt.Sprintf("%-18s %s", b.name, b.about))
	}
	return lines
}

// Builtin makes a pattern from a one-line specification, for example
//
//	ring:processes=16,bytes=2MiB,rounds=4
//	halo:dims=4x4x2,bytes=64KiB,per-node=2
//
// Defaults: processes all nodes times per-node, bytes 1MiB, rounds 1.
func Builtin(spec string, nodes int) (*Program, error) {
	name, args, _ := strings.Cut(spec, ":")
	i := slices.IndexFunc(builtins, func(b builtin) bool { return b.name == name })
	if i < 0 {
		var names []string
		for _, b := range builtins {
			names = append(names, b.name)
		}
		return nil, fmt.Errorf("pattern %q%s", name, suggestion(name, names))
	}
	b := builtins[i]
	s := shape{rounds: 1, bytes: 1 << 20, seed: 1}
	perNode := 1
	for _, arg := range strings.Split(args, ",") {
		if arg == "" {
			continue
		}
		if err := s.set(b, arg, &perNode); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", spec, err)
		}
	}
	if s.n == 0 {
		s.n = nodes * perNode
		if len(s.dims) > 0 {
			s.n = product(s.dims)
		}
	}
	if s.n < 1 || perNode < 1 || s.rounds < 1 || s.n > 1<<20 {
		return nil, fmt.Errorf("pattern %q: processes, per-node and rounds: want 1 or more, and at most 2^20 processes", spec)
	}
	if b.check != nil {
		if err := b.check(&s); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", spec, err)
		}
	}
	p := &Program{Name: spec}
	for id := range s.n {
		p.Processes = append(p.Processes, Process{ID: id, Node: nodeOf(id, perNode), Meets: b.name == "barrier", Start: b.machine(&s, id).start})
	}
	return p, nil
}

func (s *shape) set(b builtin, arg string, perNode *int) (err error) {
	key, value, _ := strings.Cut(arg, "=")
	allowed := append([]string{"processes", "per-node", "bytes"}, b.keys...)
	if !slices.Contains(allowed, key) {
		return fmt.Errorf("argument %q%s", key, suggestion(key, allowed))
	}
	switch key {
	case "processes":
		s.n, err = strconv.Atoi(value)
	case "per-node":
		*perNode, err = strconv.Atoi(value)
	case "rounds":
		s.rounds, err = strconv.Atoi(value)
	case "seed":
		s.seed, err = strconv.ParseUint(value, 10, 64)
	case "bytes":
		s.bytes, err = parseSize(value)
	case "dims":
		for _, d := range strings.Split(value, "x") {
			n, bad := strconv.Atoi(d)
			if bad != nil || n < 1 || n > 1<<20 {
				return fmt.Errorf("dims %q: want sizes such as 4x4x2", value)
			}
			s.dims = append(s.dims, n)
		}
	}
	if err != nil {
		return fmt.Errorf("%s=%q: %w", key, value, err)
	}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n = min(n*d, 1<<21)
	}
	return n
}

// exchange is the machine of rounds in which a process puts to some peers, polls for as
// many puts as it receives, and completes its own.
func exchange(s *shape, puts, polls int, to func(k int) int) machine {
	per := puts + polls + 1
	return func(step int) (Call, bool) {
		round, k := step/per, step%per
		switch {
		case round >= s.rounds:
			return Call{}, false
		case k < puts:
			return Call{Op: Put, Peer: to(k), Bytes: s.bytes, Tag: round}, true
		case k < puts+polls:
			return Call{Op: Poll, Tag: round}, true
		}
		return Call{Op: Complete, Tag: AnyTag}, true
	}
}

func ring(s *shape, id int) machine {
	return exchange(s, 1, 1, func(int) int { return (id + 1) % s.n })
}

func randomRing(s *shape, id int) machine {
	order := rand.New(rand.NewPCG(s.seed, 0)).Perm(s.n)
	at := slices.Index(order, id)
	return exchange(s, 1, 1, func(int) int { return order[(at+1)%s.n] })
}

func incast(s *shape, id int) machine {
	if id == 0 {
		return exchange(s, 0, s.n-1, nil)
	}
	return exchange(s, 1, 0, func(int) int { return 0 })
}

func allToAll(s *shape, id int) machine {
	return exchange(s, s.n-1, s.n-1, func(k int) int { return (id + k + 1) % s.n })
}

func checkHalo(s *shape) error {
	if len(s.dims) == 0 || product(s.dims) != s.n {
		return fmt.Errorf("halo of %d processes: want dims whose product is that, such as dims=4x%d", s.n, max(1, s.n/4))
	}
	return nil
}

// halo puts in both directions along each dimension of a periodic grid.
func halo(s *shape, id int) machine {
	var peers []int
	stride := 1
	for _, d := range s.dims {
		x := id / stride % d
		for _, step := range []int{1, d - 1} {
			if d > 1 {
				peers = append(peers, id+((x+step)%d-x)*stride)
			}
		}
		stride *= d
	}
	return exchange(s, len(peers), len(peers), func(k int) int { return peers[k] })
}

// allReduceRing passes on a share of the data in each of 2(n-1) steps (Patarasuk and
// Yuan, 2009).
func allReduceRing(s *shape, id int) machine {
	share := (s.bytes + int64(s.n) - 1) / int64(s.n)
	return pairwise(2*(s.n-1), func(step int) (int, int64) { return (id + 1) % s.n, share })
}

func checkPower(s *shape) error {
	if s.n&(s.n-1) != 0 {
		return errors.New("halving and doubling needs a power of two as the number of processes")
	}
	return nil
}

// allReduceHalving exchanges half, a quarter, ... of the data with ever nearer
// partners, and returns the results (Thakur et al., 2005).
func allReduceHalving(s *shape, id int) machine {
	log := bits.Len(uint(s.n)) - 1
	return pairwise(2*log, func(step int) (int, int64) {
		if step >= log {
			step = 2*log - 1 - step
		}
		return id ^ s.n>>(step+1), s.bytes >> (step + 1)
	})
}

// pairwise puts once per step and waits for that step's put to arrive.
func pairwise(steps int, to func(step int) (peer int, bytes int64)) machine {
	return func(step int) (Call, bool) {
		k := step / 2
		switch {
		case k >= steps:
			return Call{Op: Complete, Tag: AnyTag}, step == 2*steps
		case step%2 == 1:
			return Call{Op: Poll, Tag: k}, true
		}
		peer, bytes := to(k)
		return Call{Op: Put, Peer: peer, Bytes: bytes, Tag: k}, true
	}
}

func barrierOnly(s *shape, _ int) machine {
	return func(step int) (Call, bool) { return Call{Op: Barrier}, step < s.rounds }
}
