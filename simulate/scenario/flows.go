package scenario

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// allToAllFull is the largest number of ranks that all talk to each other; in larger
// jobs each talks to allToAllPartners others.
const (
	allToAllFull     = 48
	allToAllPartners = 24
	defaultStripes   = 4
)

// network converts a job's traffic to flows with paths.
type network struct {
	model   *fluid.Model
	router  *routing.Router
	healthy *routing.Router // over the fabric without failures
	broken  bool            // some channel is down
	storage []topology.DeviceID
	path    []routing.Channel
	native  []routing.Channel
}

// routeFlows writes the flows of one kind of traffic of a job into f. Flows without a
// path are omitted and counted.
func (w *network) routeFlows(f *fluid.Flows, t *Traffic, p placement, seed uint64) (unreachable int) {
	f.Reset()
	rate := t.GigabytesPerSecond * 1e9
	add := func(src, dst topology.DeviceID, demand float64) {
		if src != dst && src != absent && dst != absent && !w.add(f, src, dst, demand, seed) {
			unreachable++
		}
	}
	n := len(p.nodes)
	rng := rand.New(rand.NewPCG(seed, 1))
	switch t.Pattern {
	case Halo:
		w.halo(p, rate, add)
	case Ring, Shift, Opposite:
		distance := map[Pattern]int{Ring: 1, Shift: t.Distance, Opposite: n / 2}[t.Pattern]
		for rank, d := range p.nodes {
			add(d, p.nodes[(rank+distance)%n], rate)
		}
	case Random:
		for rank, to := range rng.Perm(n) {
			add(p.nodes[rank], p.nodes[to], rate)
		}
	case AllToAll:
		w.allToAll(p, rate, add)
	case ManyToOne:
		for _, d := range p.nodes {
			add(d, p.nodes[t.Target%n], rate)
		}
	case ReadFS, WriteFS:
		w.fileSystem(p, t, rate, rng, add)
	}
	return unreachable
}

func (w *network) add(f *fluid.Flows, src, dst topology.DeviceID, demand float64, seed uint64) bool {
	hash := seed ^ uint64(src)<<32 ^ uint64(dst)
	var ok bool
	if w.path, ok = w.router.Append(w.path[:0], src, dst, hash); !ok {
		return false
	}
	detour := false
	if w.broken {
		w.native, _ = w.healthy.Append(w.native[:0], src, dst, hash)
		detour = !slices.Equal(w.path, w.native)
	}
	f.Add(w.model, demand, src, dst, w.path, detour)
	return true
}

// halo exchanges with the two neighbours in each dimension of the box of ranks, without
// wrapping around.
func (w *network) halo(p placement, rate float64, add func(src, dst topology.DeviceID, demand float64)) {
	perNeighbour := rate / float64(2*len(p.size))
	for rank, d := range p.nodes {
		stride, rest := 1, rank
		for _, size := range p.size {
			at := rest % size
			if at > 0 {
				add(d, p.nodes[rank-stride], perNeighbour)
			}
			if at+1 < size {
				add(d, p.nodes[rank+stride], perNeighbour)
			}
			rest /= size
			stride *= size
		}
	}
}

func (w *network) allToAll(p placement, rate float64, add func(src, dst topology.DeviceID, demand float64)) {
	n := len(p.nodes)
	if n < 2 {
		return
	}
	partners := n - 1
	if n > allToAllFull {
		partners = allToAllPartners
	}
	for k := range partners {
		distance := 1 + k*(n-1)/partners
		for rank, d := range p.nodes {
			add(d, p.nodes[(rank+distance)%n], rate/float64(partners))
		}
	}
}

// fileSystem reads from or writes to storage nodes, in a round-robin order that is
// independent of where the job runs (Monet, section 2).
func (w *network) fileSystem(p placement, t *Traffic, rate float64, rng *rand.Rand, add func(src, dst topology.DeviceID, demand float64)) {
	if len(w.storage) == 0 {
		return
	}
	stripes := min(cmp.Or(t.Stripes, defaultStripes), len(w.storage))
	next := rng.IntN(len(w.storage))
	for _, d := range p.nodes {
		for range stripes {
			s := w.storage[next%len(w.storage)]
			next++
			if t.Pattern == ReadFS {
				add(s, d, rate/float64(stripes))
			} else {
				add(d, s, rate/float64(stripes))
			}
		}
	}
}
