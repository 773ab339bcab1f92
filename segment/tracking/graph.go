package tracking

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mustFit panics if moved does not map the links of the current graph to the new one,
// since regions would move to unrelated links.
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

// SetGraph switches to another version of the fabric's graph, between two steps. moved has each link's
// new number, or schema.NoLink if it is gone. Regions keep their identity, age and forecasts, without the
// links that are gone. A region without links ends with an event in the next step, from which nothing is
// learned because it did not calm down. It panics if moved does not fit the two graphs.
func (t *Tracker) SetGraph(g *topology.Graph, moved []schema.LinkID) {
	mustFit(t.fabric, t.match.numLinks, g, moved)
	for _, tr := range t.tracks {
		tr.links = topology.Renumber(tr.links, moved)
	}
	t.graphVersion = g.Version()
	t.match.setLinks(g.NumLinks())
}

// SetGraph switches to another version of the fabric's graph, between two steps, like Tracker.SetGraph:
// links stay hot. The episode of a link that is gone is dropped, since its length is unknown.
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
