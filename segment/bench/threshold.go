package bench

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// minThresholdLinks is the minimum size of a thresholded region; below it, isolated hot links would count.
const minThresholdLinks = 8

// Threshold is the baseline: links at 5% and more, connected by shared switches or, if directed, by
// traffic that passes from one to the next. A method must beat its score.
func Threshold(g *topology.Graph, snap *schema.Snapshot, directed bool) (regions []schema.Region) {
	for i := range snap.Series {
		s := &snap.Series[i]
		if !s.Metric.IsStall() {
			continue
		}
		cold := make([]bool, len(s.Values)) // or in a region
		for id, v := range s.Values {
			cold[id] = !s.Valid.Has(id) || v < schema.LowPercent
		}
		for first := range s.Values {
			links := growFrom(g, schema.LinkID(first), cold, directed)
			if len(links) < minThresholdLinks {
				continue
			}
			sum := 0.
			for _, id := range links {
				sum += float64(s.Values[id])
			}
			regions = append(regions, schema.Region{Metric: s.Metric, Links: links, Size: len(links), Mean: sum / float64(len(links))})
		}
	}
	return regions
}

// growFrom returns the links that are connected to the first without cold ones, in order, and makes them cold.
func growFrom(g *topology.Graph, first schema.LinkID, cold []bool, directed bool) (links []schema.LinkID) {
	if cold[first] {
		return nil
	}
	cold[first] = true
	links = []schema.LinkID{first}
	for j := 0; j < len(links); j++ {
		for _, id := range g.AppendNeighbours(nil, links[j]) {
			if !cold[id] && (!directed || follows(g, links[j], id) || follows(g, id, links[j])) {
				cold[id] = true
				links = append(links, id)
			}
		}
	}
	slices.Sort(links)
	return links
}

// follows reports whether traffic may pass from link a to link b.
func follows(g *topology.Graph, a, b schema.LinkID) bool {
	from, via := g.Ends(a)
	next, to := g.Ends(b)
	return via == next && to != from
}
