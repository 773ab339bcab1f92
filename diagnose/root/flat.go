package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// flatBottleneck is a link of a grid that lost rate, recognised by its constant load: as packets always wait for it,
// its load is its rate, the same in all intervals since the onset, and at least LeastUse, as less is too little to show
// whether it varies. Stalled links lead to it, in the end most of the region, and nothing that these may wait for
// stalls. Of several it is the one that lost most.
func (w *gridWalk) flatBottleneck(links []schema.LinkID) Bottleneck {
	best, most := Bottleneck{Link: schema.NoLink}, 0.
	for _, l := range links {
		_, in := w.shows(l)
		if in.dim < 0 || w.inOneWay(in.stall) < endStall {
			continue
		}
		dim := in.dim
		from, to := w.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			for _, out := range w.graph.LinksAt(via) {
				_, s := w.shows(out)
				lostRate := s.lost > most && w.inOneWay(s.use) >= LeastUse && s.left() < ClearlyLess
				if out == l || s.dim < dim || !lostRate {
					continue
				}
				if !w.stallEndsAt(l, dim, via) || !w.isFlat(out) || w.reaches(links, out, via) < mostReaches {
					continue
				}
				most = s.lost
				best = Bottleneck{Link: out, Tail: via, Waits: w.waitsFor(out), Lost: 1 - s.left(),
					Slower: true, Cannot: true, Sole: true}
			}
		}
	}
	return best
}

// stallEndsAt reports whether no link stalls that traffic of a link into a switch may wait for.
func (w *gridWalk) stallEndsAt(l schema.LinkID, dim int, via topology.DeviceID) bool {
	for _, out := range w.graph.LinksAt(via) {
		if _, s := w.shows(out); out != l && s.dim >= dim && s.stall > bottleneckStall {
			return false
		}
	}
	return true
}
