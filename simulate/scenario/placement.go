package scenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/topology"
)

// placement is where a job runs: a node per rank, and the extent of the box of ranks.
// Storage nodes inside the box belong to no job and are represented by absent.
type placement struct {
	nodes []topology.DeviceID
	size  []int // product is len(nodes)
}

const absent = ^topology.DeviceID(0)

// allocator tracks which hosts are taken, by device.
type allocator struct {
	graph    *topology.Graph
	hosts    []topology.DeviceID
	storage  []bool
	reserved []bool // for jobs whose place is given in the script
	taken    []bool
	rng      *rand.Rand
}

func newAllocator(g *topology.Graph, rng *rand.Rand) allocator {
	n := g.NumDevices()
	return allocator{graph: g, hosts: seatsOf(g).hosts, storage: make([]bool, n), reserved: make([]bool, n), taken: make([]bool, n), rng: rng}
}

// place finds the nodes for a job.
func (a *allocator) place(j *Job) (placement, error) {
	var p placement
	var err error
	switch {
	case j.Size != nil:
		p, err = a.box(j.At, j.Size)
	case j.Hosts != "":
		p.nodes, err = hostList(a.graph, j.Hosts)
	default:
		p, err = a.room(j.Nodes)
	}
	if err != nil {
		return placement{}, fmt.Errorf("job %q: %w", j.ID, err)
	}
	if p.size == nil {
		p.size = cubeOf(len(p.nodes))
	}
	for rank, d := range p.nodes {
		switch {
		case a.storage[d]:
			p.nodes[rank] = absent
		case a.taken[d]:
			return placement{}, fmt.Errorf("job %q: node %q is already taken by another job", j.ID, a.graph.Device(d).Name)
		}
	}
	present := p.present()
	if len(present) == 0 {
		return placement{}, fmt.Errorf("job %q: all its nodes are storage nodes", j.ID)
	}
	for _, d := range present {
		a.taken[d] = true
	}
	return p, nil
}

// present lists the nodes of the job without absent ones.
func (p *placement) present() []topology.DeviceID {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(d topology.DeviceID) bool { return d == absent })
}

func (a *allocator) release(p placement) {
	for _, d := range p.present() {
		a.taken[d] = false
	}
}

// box is a prism of switches with wrap-around, X fastest.
func (a *allocator) box(at, size []int) (placement, error) {
	grid := a.graph.Grid()
	if grid == nil || len(at) != len(grid.Dims) {
		return placement{}, fmt.Errorf("a box at %v needs a torus or mesh of %d dimensions", at, len(at))
	}
	for i, n := range size {
		if n < 1 || n > grid.Dims[i] || at[i] < 0 || at[i] >= grid.Dims[i] || !grid.Wrap && at[i]+n > grid.Dims[i] {
			return placement{}, fmt.Errorf("a box at %v of size %v does not fit a fabric of %v", at, size, grid.Dims)
		}
	}
	return placement{nodes: boxNodes(grid, at, size), size: size}, nil
}

func boxNodes(grid *topology.Grid, at, size []int) []topology.DeviceID {
	n := 1
	for _, s := range size {
		n *= s
	}
	nodes := make([]topology.DeviceID, n)
	c := make([]int, len(size))
	for rank := range nodes {
		rest := rank
		for i, s := range size {
			c[i] = (at[i] + rest%s) % grid.Dims[i]
			rest /= s
		}
		nodes[rank] = topology.DeviceID(grid.Number(c))
	}
	return nodes
}

// room finds a free box of about n switches on a grid, as in topology-aware scheduling
// (Monet, section 2), or n free hosts elsewhere, contiguous if possible.
func (a *allocator) room(n int) (placement, error) {
	if grid := a.graph.Grid(); grid != nil && len(grid.Dims) == 3 {
		return a.freeBox(grid, n)
	}
	var nodes []topology.DeviceID
	start := a.rng.IntN(len(a.hosts))
	for i := range a.hosts {
		if d := a.hosts[(start+i)%len(a.hosts)]; a.free(d) {
			if nodes = append(nodes, d); len(nodes) == n {
				return placement{nodes: nodes}, nil
			}
		}
	}
	return placement{}, fmt.Errorf("no room for %d nodes", n)
}

func (a *allocator) freeBox(grid *topology.Grid, n int) (placement, error) {
	side := int(math.Ceil(math.Cbrt(float64(n)) - 1e-9))
	x := min(side, grid.Dims[0])
	y := min(side, grid.Dims[1], (n+x-1)/x)
	size := []int{x, y, min(grid.Dims[2], (n+x*y-1)/(x*y))}
	start := a.rng.IntN(grid.Switches())
	at := make([]int, 3)
	for i := range grid.Switches() {
		grid.Coord((start+i)%grid.Switches(), at)
		if a.freeAt(grid, at, size) {
			return placement{nodes: boxNodes(grid, at, size), size: size}, nil
		}
	}
	return placement{}, fmt.Errorf("no room for a box of %v", size)
}

// freeAt reports whether a box is free; it may contain storage nodes, but not at its
// corner.
func (a *allocator) freeAt(grid *topology.Grid, at, size []int) bool {
	if !a.free(topology.DeviceID(grid.Number(at))) {
		return false
	}
	if !grid.Wrap && (at[0]+size[0] > grid.Dims[0] || at[1]+size[1] > grid.Dims[1] || at[2]+size[2] > grid.Dims[2]) {
		return false
	}
	for z := range size[2] {
		for y := range size[1] {
			line := grid.Dims[0] * ((at[1]+y)%grid.Dims[1] + grid.Dims[1]*((at[2]+z)%grid.Dims[2]))
			for x := range size[0] {
				if d := topology.DeviceID(line + (at[0]+x)%grid.Dims[0]); !a.storage[d] && !a.free(d) {
					return false
				}
			}
		}
	}
	return true
}

func (a *allocator) free(d topology.DeviceID) bool {
	return !a.taken[d] && !a.reserved[d] && !a.storage[d]
}

// cubeOf is the extent of a box of n ranks, as close to a cube as n's factors allow.
func cubeOf(n int) []int {
	size := []int{1, 1, n}
	for a := int(math.Cbrt(float64(n)) + 1e-9); a >= 1; a-- {
		if n%a != 0 {
			continue
		}
		for b := int(math.Sqrt(float64(n / a))); b >= a; b-- {
			if n/a%b == 0 {
				return []int{a, b, n / a / b}
			}
		}
	}
	return size
}
