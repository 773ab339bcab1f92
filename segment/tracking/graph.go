package tracking

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mustFit panics if moved cannot be of the links of a fabric's graph so far and of
// its new one: regions would jump to unrelated links.
func mustFit(fabric string, numLinks int, g *topology.Graph, moved []schema.LinkID) {
	if g.Fabric() != fabric || len(moved) != numLinks {
		panic(fmt.Sprintf("tracking: %d links of fabric %s moved to a graph of fabric %s: want %d", len(moved), fabric, g.Fabric(), numLinks))
	}
	for old, now := range moved {
		if now != schema.NoLink && int64(now) >= int64(g.NumLinks()) {
			panic(fmt.Sprintf("tracking: link %d of fabric %s moved to link %d of %d", old, fabric, now, g.NumLinks()))
		}
	}
}

// SetGraph goes on with another version of the fabric's graph, between two steps. moved gives each link's
// new number, or schema.NoLink where it is gone. Regions keep their identity, age and forecasts; links
// that are gone drop out of them. A region without a link ends with an event of the next step, from which
// nothing is learned: it did not calm down. It panics if moved does not fit the two graphs.
func (t *Tracker) SetGraph(g *topology.Graph, moved []schema.LinkID) {
	mustFit(t.fabric, t.match.numLinks, g, moved)
	for _, tr := range t.tracks {
		tr.links = topology.Renumber(tr.links, moved)
	}
	t.graphVersion = g.Version()
	t.match.setLinks(g.NumLinks())
}

// SetGraph goes on with another version of the fabric's graph, between two steps, as Tracker.SetGraph
// does: links stay hot. The episode of a link that is gone is dropped, for its length is not known.
func (h *Hotspots) SetGraph(g *topology.Graph, moved []schema.LinkID) {
	mustFit(h.fabric, h.numLinks, g, moved)
	h.graphVersion, h.numLinks = g.Version(), g.NumLinks()
	for _, hot := range h.metrics {
		if hot == nil {
			continue
		}
		hot.slot = filled(hot.slot, h.numLinks)
		runs := hot.runs[:0]
		for _, r := range hot.runs {
			now := moved[r.link]
			if now == schema.NoLink || hot.slot[now] >= 0 {
				continue
			}
			hot.slot[now], r.link = int32(len(runs)), now
			runs = append(runs, r)
		}
		hot.runs = runs
	}
}
