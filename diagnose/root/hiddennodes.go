package root

import "github.com/giverny/giverny/topology"

// endsAtNodes reports whether most of the stall that ends at a switch of a grid waits for its nodes, whose links are not
// in the graph: it waits for none of the ports, and the nodes take in more than before the onset.
func (w *walk) endsAtNodes(a *atSwitch) bool {
	return w.grid != nil && a.host == a.device && a.most < a.lost && w.takesMore(a.device)
}

// takesMore reports whether the nodes of a switch take in more than before the onset, at least grewShare of what its
// stalled inputs carry: so much was added to these, and to all inputs beyond what goes on (conservation of flow). The
// second alone may be because its nodes send less.
func (p ports) takesMore(at topology.DeviceID) bool {
	more, came, carries := 0., 0., 0.
	for _, l := range p.graph.LinksAt(at) {
		added, known := p.Added(l)
		if !known {
			continue
		}
		if from, _ := p.graph.Ends(l); from == at {
			more -= added
			continue
		}
		if more += added; p.StallOf(l) >= stalledPercent {
			came, carries = came+added, carries+p.Carries(l)
		}
	}
	return min(more, came) > grewShare*carries
}
