package routes

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ShortestPaths splits a uniform all-to-all exchange over all shortest paths between switches, equally at every switch,
// as equal-cost multipath (ECMP) does on average.
type ShortestPaths struct {
	graph   *topology.Graph
	dist    [][]uint8             // by number of the goal, then by switch number: hops to the goal; nil: not known
	known   int                   // number of those known
	number  []int32               // by device: switch number
	in      [][]int32             // by switch number: switches with a link that is up to it
	out     [][]schema.LinkID     // by switch: links that are up, to other switches
	leaves  [][]topology.DeviceID // by device: the switches of a host, ascending; of a switch, itself
	order   []topology.DeviceID   // scratch
	flow    []float64             // scratch, by device
	goals   [][]uint8             // scratch: distances to some leaves
	nearest []uint8               // scratch: by switch number, hops to the nearest of some leaves
	between []schema.LinkID       // scratch
}

const (
	unreached = ^uint8(0)
	// maxDistances limits the memory of distances, in bytes.
	maxDistances = 64 << 20
)

// newShortestPaths lists the links and leaves of a graph; distances are found when they are asked for.
func newShortestPaths(g *topology.Graph) *ShortestPaths {
	n := g.NumDevices()
	t := &ShortestPaths{graph: g, out: make([][]schema.LinkID, n), leaves: make([][]topology.DeviceID, n),
		number: make([]int32, n), flow: make([]float64, n)}
	self := make([]topology.DeviceID, n)
	for d := range topology.DeviceID(n) {
		if !g.IsSwitch(d) {
			t.leaves[d] = leavesOf(g, d)
			continue
		}
		self[d] = d
		t.leaves[d] = self[d : d+1 : d+1]
		for _, l := range g.LinksAt(d) {
			if from, _ := g.Ends(l); g.BetweenSwitches(l) && g.Link(l).Up && (g.Duplex() || from == d) {
				t.out[d] = append(t.out[d], l)
			}
		}
	}
	t.numberSwitches()
	return t
}

// leavesOf lists the switches that a host has links to, ascending: those with a link that is up or, if there are none,
// all; the host itself if it has no links.
func leavesOf(g *topology.Graph, d topology.DeviceID) (leaves []topology.DeviceID) {
	anyUp := slices.ContainsFunc(g.LinksAt(d), func(l schema.LinkID) bool { return g.Link(l).Up })
	for _, l := range g.LinksAt(d) {
		if g.Link(l).Up || !anyUp {
			leaves = append(leaves, g.OtherEnd(l, d))
		}
	}
	if len(leaves) == 0 {
		return []topology.DeviceID{d}
	}
	slices.Sort(leaves)
	return slices.Clip(slices.Compact(leaves))
}

// lead leads the traffic that waits at switches on by distances to its goals; what has arrived stays there.
func (t *ShortestPaths) lead(r *Router, dist []uint8) {
	// The farthest first: all traffic reaches a switch before it is sent on.
	slices.SortFunc(t.order, func(a, b topology.DeviceID) int {
		return int(dist[t.number[b]]) - int(dist[t.number[a]])
	})
	for level := t.farthest(dist); level > 0; level-- {
		for i := 0; i < len(t.order); i++ {
			if d := t.order[i]; dist[t.number[d]] == level && t.flow[d] > 0 {
				t.spread(r, d, dist)
			}
		}
	}
}

// farthest is the distance of the first switch of order, of which the farthest is first; 0 of none.
func (t *ShortestPaths) farthest(dist []uint8) uint8 {
	if len(t.order) == 0 {
		return 0
	}
	return dist[t.number[t.order[0]]]
}

// spread sends the traffic at a switch on to its neighbours that are nearer to the goal.
func (t *ShortestPaths) spread(r *Router, d topology.DeviceID, dist []uint8) {
	n, nearer := 0, dist[t.number[d]]-1
	for _, l := range t.out[d] {
		if dist[t.number[t.graph.OtherEnd(l, d)]] == nearer {
			n++
		}
	}
	for _, l := range t.out[d] {
		next := t.graph.OtherEnd(l, d)
		if dist[t.number[next]] != nearer {
			continue
		}
		share := t.flow[d] / float64(n)
		r.add(l, share)
		t.put(next, share)
	}
	t.flow[d] = 0
}

// put adds traffic that waits at a switch.
func (t *ShortestPaths) put(d topology.DeviceID, share float64) {
	if t.flow[d] == 0 {
		t.order = append(t.order, d)
	}
	t.flow[d] += share
}

// distances returns the hops to a goal by switch number, by breadth-first search against the links.
func (t *ShortestPaths) distances(goal topology.DeviceID) []uint8 {
	if dist := t.dist[t.number[goal]]; dist != nil {
		return dist
	}
	if (t.known+1)*len(t.in) > maxDistances {
		clear(t.dist)
		t.known = 0
	}
	dist := make([]uint8, len(t.in))
	for i := range dist {
		dist[i] = unreached
	}
	dist[t.number[goal]] = 0
	queue := []int32{t.number[goal]}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for _, from := range t.in[at] {
			if dist[from] == unreached && dist[at] < unreached-1 {
				dist[from] = dist[at] + 1
				queue = append(queue, from)
			}
		}
	}
	t.dist[t.number[goal]] = dist
	t.known++
	return dist
}

// numberSwitches numbers the switches and leaves, and lists the switches with a link to each.
func (t *ShortestPaths) numberSwitches() {
	count := int32(0)
	isLeaf := make([]bool, len(t.leaves))
	for _, leaves := range t.leaves {
		for _, leaf := range leaves {
			isLeaf[leaf] = true // a switch is its own leaf
		}
	}
	for d, is := range isLeaf {
		if is {
			t.number[d] = count
			count++
		}
	}
	t.in, t.dist = make([][]int32, count), make([][]uint8, count)
	for d, out := range t.out {
		for _, l := range out {
			at := t.number[t.graph.OtherEnd(l, topology.DeviceID(d))]
			t.in[at] = append(t.in[at], t.number[d])
		}
	}
}

// wayWeight is how much a link counts as a way to or from a job's switches: not at all, as one that can lead there, or
// as one that ends or begins there.
var wayWeight = [...]float64{noWay: 0, looseWay: .6, endWay: 1}

const (
	noWay = iota
	looseWay
	endWay
)

// onTheWay is the weight of the links that shortest paths to the leaves, or from them, can take, whichever is greater.
// Links that end, or begin, at one of the leaves count in full.
func (t *ShortestPaths) onTheWay(leaves []topology.DeviceID, links []schema.LinkID, weight []float64) float64 {
	t.goals = t.goals[:0]
	for _, leaf := range leaves {
		t.goals = append(t.goals, t.distances(leaf))
	}
	var to, from float64
	for at, l := range links {
		a, b := t.leafEnds(l)
		nearer, farther := wayBetween(t.goals, t.number[a], t.number[b])
		to, from = to+weight[at]*wayWeight[nearer], from+weight[at]*wayWeight[farther]
	}
	return max(to, from)
}

// wayBetween is what kind of way a link from one switch to another is to some leaves, and from them, given the
// distances to each.
func wayBetween(goals [][]uint8, a, b int32) (nearer, farther int) {
	for _, dist := range goals {
		switch from, to := dist[a], dist[b]; {
		case a == b || from == unreached || to == unreached:
			nearer, farther = max(nearer, looseWay), max(farther, looseWay) // a host link
		case to == 0:
			nearer = endWay
		case from == 0:
			farther = endWay
		case to+1 == from:
			nearer = max(nearer, looseWay)
		case from+1 == to:
			farther = max(farther, looseWay)
		}
	}
	return nearer, farther
}

// leafEnds are the switches at the ends of a link; both are the same for a host's link.
func (t *ShortestPaths) leafEnds(l schema.LinkID) (from, to topology.DeviceID) {
	from, to = t.graph.Ends(l)
	switch {
	case !t.graph.IsSwitch(from):
		return to, to
	case !t.graph.IsSwitch(to):
		return from, from
	}
	return from, to
}

// LeadFrom reports whether a shortest path from a switch to another can use a link that leaves a switch.
func (t *ShortestPaths) LeadFrom(leaf topology.DeviceID, l schema.LinkID) bool {
	from, to := t.graph.Ends(l)
	if !t.graph.IsSwitch(to) {
		return true
	}
	near, far := t.distances(from)[t.number[leaf]], t.distances(to)[t.number[leaf]]
	return near != unreached && far == near+1
}

// LeadTo reports whether a shortest path to a switch can use a link between switches.
func (t *ShortestPaths) LeadTo(leaf topology.DeviceID, l schema.LinkID) bool {
	from, to := t.graph.Ends(l)
	dist := t.distances(leaf)
	near := dist[t.number[to]]
	return near != unreached && dist[t.number[from]] == near+1
}

// Reach reports whether there is a path from a switch to another.
func (t *ShortestPaths) Reach(from, to topology.DeviceID) bool {
	return t.distances(to)[t.number[from]] != unreached
}
