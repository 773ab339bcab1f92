package root

import (
	"math"

	"github.com/giverny/giverny/topology"
)

// Converging is how well the load added to a region and its surroundings agrees with equal traffic from some switches
// to one, 0 to 1: the cosine similarity of the number of routes over each link and the load added to it, times the
// share of that traffic, at the rate at which it arrives at the end, that the links on its way carry. Links show the
// busier of two directions, so that less may seem added than was, but a link cannot carry less than what is sent over
// it.
func (g *GridRegion) Converging(senders []topology.DeviceID, end topology.DeviceID) float64 {
	g.check()
	if g.grid == nil || len(senders) < leastSenders {
		return 0
	}
	g.tree.Gather(senders, end)
	defer g.tree.Reset()
	arrives, routes := 0., 0.
	for _, l := range g.p.graph.LinksAt(end) {
		if n := g.tree.Load[l]; n > 0 {
			arrives, routes = arrives+g.look(l).added, routes+n
		}
	}
	if arrives == 0 {
		return 0
	}
	each, dot, loads, squares, sent, seen := arrives/routes, 0., 0., g.squares[addedTo], 0., 0.
	for _, l := range g.tree.Links {
		n, at := g.tree.Load[l], g.look(l)
		if !g.inside.has(l) {
			squares += at.added * at.added
		}
		dot, loads = dot+n*at.added, loads+n*n
		sent, seen = sent+n*each, seen+min(at.carries, n*each)
	}
	return dot / math.Sqrt(loads*squares) * seen / sent
}
