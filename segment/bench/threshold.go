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
		seen := make([]bool, len(s.Values))
		hot := func(id schema.LinkID) bool {
			return s.Valid.Has(int(id)) && s.Values[id] >= schema.LowPercent && !seen[id]
		}
		for first := range s.Values {
			if !hot(schema.LinkID(first)) {
				continue
			}
			seen[first] = true
			links, sum := []schema.LinkID{schema.LinkID(first)}, 0.
			for j := 0; j < len(links); j++ {
				sum += float64(s.Values[links[j]])
				for _, id := range g.AppendNeighbours(nil, links[j]) {
					if hot(id) && (!directed || follows(g, links[j], id) || follows(g, id, links[j])) {
						seen[id] = true
						links = append(links, id)
					}
				}
			}
			if len(links) >= minThresholdLinks {
				regions = append(regions, schema.Region{Metric: s.Metric, Links: sortedLinks(links), Size: len(links), Mean: sum / float64(len(links))})
			}
		}
	}
	return regions
}

// follows reports whether traffic may pass from link a to link b.
func follows(g *topology.Graph, a, b schema.LinkID) bool {
	from, via := g.Ends(a)
	next, to := g.Ends(b)
	return via == next && to != from
}

func sortedLinks(links []schema.LinkID) []schema.LinkID {
	slices.Sort(links)
	return links
}
