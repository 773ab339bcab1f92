package root

import (
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// hop is a link as far as it decides over which links its traffic may go on.
type hop struct {
	link      schema.LinkID
	from, via topology.DeviceID
	isFirst   bool                // from a host
	isDown    bool                // down a tree
	level     int8                // of via
	global    bool                // between groups of a dragonfly, and the next link may not be
	dim       int                 // on a grid, its dimension; -1: none
	beside    []topology.DeviceID // the switches to which a link from the same switch leads
}

// hops says over which links traffic may go on, by the graph alone.
type hops struct {
	graph *topology.Graph
	next  [][]topology.DeviceID // by switch: the switches to which a link that is up leads, ascending
	// of a grid, else nil: every switch has nodes, whose links are not in the graph, and what waits at its inputs may wait
	// for these
	grid *routes.Grid
}

// hopOver is the hop over a link.
func (p *hops) hopOver(l schema.LinkID) hop {
	from, via := p.graph.Ends(l)
	level := p.graph.Device(via).Level
	dim := -1
	if p.grid != nil {
		dim = p.grid.Dim(l)
	}
	return hop{link: l, dim: dim, from: from, via: via, isFirst: !p.graph.IsSwitch(from),
		isDown: level >= 0 && p.graph.Device(from).Level > level, level: level,
		global: p.graph.Link(l).Class == topology.ClassGlobal, beside: p.next[from]}
}

// mayWait reports whether traffic of link a may go on over link b: b leaves the switch that a enters, but not back, not
// up a tree after a hop down, on a grid not along an earlier dimension, not to a switch adjacent to the one it came from, and not over a second link between
// groups of a dragonfly without a hop within the group.
func (p *hops) mayWait(a, b schema.LinkID) bool {
	over := p.hopOver(a)
	return p.mayFollow(&over, b)
}

// mayGoOn is mayWait for routes with the fewest hops, which may cross a group over two links between groups.
func (p *hops) mayGoOn(a, b schema.LinkID) bool {
	over := p.hopOver(a)
	over.global = false
	return p.mayFollow(&over, b)
}

// mayFollow is mayWait for a known hop.
func (p *hops) mayFollow(over *hop, b schema.LinkID) bool {
	at, to := p.graph.Ends(b)
	if at != over.via || to == over.from || over.global && p.graph.Link(b).Class == topology.ClassGlobal {
		return false
	}
	if over.isFirst || !p.graph.IsSwitch(to) {
		return true
	}
	if over.isDown && p.graph.Device(to).Level > over.level {
		return false
	}
	if over.dim >= 0 && p.grid.Dim(b) < over.dim {
		return false
	}
	return !over.isBeside(to)
}

// isBeside reports whether another link from the switch that the hop leaves leads to a switch. Most are out of range
// without a search: the levels of a tree are numbered one after the other.
func (over *hop) isBeside(to topology.DeviceID) bool {
	if n := len(over.beside); n == 0 || to < over.beside[0] || to > over.beside[n-1] {
		return false
	}
	_, found := slices.BinarySearch(over.beside, to)
	return found
}

// nextSwitches lists, by switch, the switches to which a link that is up leads, ascending.
func nextSwitches(g *topology.Graph) [][]topology.DeviceID {
	next := make([][]topology.DeviceID, g.NumDevices())
	for l := range schema.LinkID(g.NumLinks()) {
		if from, to := g.Ends(l); g.BetweenSwitches(l) && g.Link(l).Up {
			next[from] = append(next[from], to)
		}
	}
	for d := range next {
		slices.Sort(next[d])
		next[d] = slices.Compact(next[d])
	}
	return next
}
