package root

import (
	"math"

	"github.com/giverny/giverny/topology"
)

// Converging is how well the load added to a region and its surroundings agrees with equal traffic from some switches to one, 0 to 1:
// the cosine similarity of the number of routes over each link and the load added to it, times the share of that traffic, at the
// rate at which it arrives at the end, that the links on its way carry. Links show the busier of two directions, so that less may seem
// added than was, but a link cannot carry less than what is sent over it. It must follow the call of Drain for the same region.
func (f *Finder) Converging(senders []topology.DeviceID, end topology.DeviceID) float64 {
	h := &f.held
	if f.grid == nil || len(senders) < leastSenders {
		return 0
	}
	h.tree.Gather(senders, end)
	defer h.tree.Reset()
	arrives, routes := 0., 0.
	for _, l := range f.graph.LinksAt(end) {
		if n := h.tree.Load[l]; n > 0 {
			arrives, routes = arrives+h.look(l).added, routes+n
		}
	}
	if arrives == 0 {
		return 0
	}
	each, dot, loads, squares, sent, seen := arrives/routes, 0., 0., h.squares[addedTo], 0., 0.
	for _, l := range h.tree.Links {
		n, at := h.tree.Load[l], h.look(l)
		if at.in != h.round {
			squares += at.added * at.added
		}
		dot, loads = dot+n*at.added, loads+n*n
		sent, seen = sent+n*each, seen+min(at.carries, n*each)
	}
	return dot / math.Sqrt(loads*squares) * seen / sent
}
