package segmenttest

import (
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// Check checks everything that Step guarantees about its result, for any method.
func Check(t stalls.Reporter, g *topology.Graph, cfg segment.Config, snap *schema.Snapshot, regions []schema.Region) {
	t.Helper()
	for i := range regions {
		r := &regions[i]
		if i > 0 && !inOrder(cfg, snap, &regions[i-1], r) {
			t.Errorf("region %d, %d links of %s from %d, stands before region %d, %d links of %s from %d", i-1, regions[i-1].Size,
				regions[i-1].Metric, regions[i-1].Links[0], i, r.Size, r.Metric, r.Links[0])
		}
		if err := checkRegion(g, cfg, snap.Find(r.Metric), r); err != nil {
			t.Errorf("region %d of %s: %v", i, r.Metric, err)
		}
	}
	checkShared(t, cfg, regions)
}

// inOrder is the order of results: metric, size, links.
func inOrder(cfg segment.Config, snap *schema.Snapshot, a, b *schema.Region) bool {
	if a.Metric != b.Metric {
		order := cfg.Metrics
		if len(order) == 0 {
			for i := range snap.Series {
				order = append(order, snap.Series[i].Metric)
			}
		}
		return slices.Index(order, a.Metric) < slices.Index(order, b.Metric)
	}
	if a.Size != b.Size || a.Mean != b.Mean {
		return a.Size > b.Size || a.Size == b.Size && a.Mean > b.Mean
	}
	return slices.Compare(a.Links, b.Links) < 0
}

func checkRegion(g *topology.Graph, cfg segment.Config, series *schema.Series, r *schema.Region) error {
	if series == nil || !r.Metric.IsStall() {
		return fmt.Errorf("its metric is not a stall in the snapshot")
	}
	sum, highest := 0., 0.
	for i, l := range r.Links {
		if i > 0 && r.Links[i-1] >= l {
			return fmt.Errorf("link %d stands before %d", r.Links[i-1], l)
		}
		v, ok := stalls.Reading(series, l)
		if !ok {
			return fmt.Errorf("link %d was not measured", l)
		}
		sum += v
		highest = max(highest, v)
	}
	mean := sum / float64(len(r.Links))
	switch {
	case r.Size != len(r.Links) || r.Size < cfg.MinLinks:
		return fmt.Errorf("size %d of %d links, want at least %d", r.Size, len(r.Links), cfg.MinLinks)
	case !(math.Abs(r.Mean-mean) <= 1e-9*mean) || !(r.Mean >= cfg.MinMeanPercent):
		return fmt.Errorf("mean %v, want %v and at least %v", r.Mean, mean, cfg.MinMeanPercent)
	case r.Max != highest:
		return fmt.Errorf("max %v, want %v", r.Max, highest)
	case r.Severity != schema.SeverityOf(r.Mean):
		return fmt.Errorf("severity %s at %v%%", r.Severity, r.Mean)
	case (r.Box != nil) != (g.Grid() != nil):
		return fmt.Errorf("box %v", r.Box)
	}
	if FollowsBackPressure(g, cfg) {
		return nil // parts of one exchange may be connected through a full port that does not stall
	}
	if n := reached(g, cfg, series, r); n != r.Size {
		return fmt.Errorf("from link %d only %d of %d links are reached", r.Links[0], n, r.Size)
	}
	return nil
}

// reached counts the links of a region that can be reached from its first one. A step
// goes to a link that shares a switch and is in the region or missing; for the paper's
// method, to one of the region within delta.
func reached(g *topology.Graph, cfg segment.Config, series *schema.Series, r *schema.Region) int {
	inside, seen := make([]bool, g.NumLinks()), make([]bool, g.NumLinks())
	for _, l := range r.Links {
		inside[l] = true
	}
	seen[r.Links[0]] = true
	n, rest := 0, slices.Clone(r.Links)
	for queue := []schema.LinkID{r.Links[0]}; len(queue) > 0; queue = queue[1:] {
		if inside[queue[0]] {
			n++
		}
		rest = slices.DeleteFunc(rest, func(l schema.LinkID) bool { return seen[l] })
		for _, l := range within(g, cfg, queue[0], rest) {
			_, measured := stalls.Reading(series, l)
			if !seen[l] && (inside[l] || cfg.Method == segment.Statistical && !measured) {
				seen[l] = true
				queue = append(queue, l)
			}
		}
	}
	return n
}

// within lists the links that one step of reached leads to, at least those of them in rest.
func within(g *topology.Graph, cfg segment.Config, from schema.LinkID, rest []schema.LinkID) []schema.LinkID {
	if cfg.Method == segment.Statistical {
		return g.AppendNeighbours(nil, from)
	}
	if g.Grid() != nil {
		return slices.DeleteFunc(slices.Clone(rest), func(l schema.LinkID) bool { return g.L1(from, l) > cfg.Paper.Distance })
	}
	near := []schema.LinkID{from}
	seen := map[schema.LinkID]bool{from: true}
	begin := 0
	for range cfg.Paper.Distance {
		end := len(near)
		for _, l := range near[begin:end] {
			for _, k := range g.AppendNeighbours(nil, l) {
				if !seen[k] {
					seen[k] = true
					near = append(near, k)
				}
			}
		}
		begin = end
	}
	return near
}

// checkShared checks that regions are disjoint, or, with overlap, that no two are
// equal.
func checkShared(t stalls.Reporter, cfg segment.Config, regions []schema.Region) {
	t.Helper()
	type place struct {
		metric schema.Metric
		link   schema.LinkID
	}
	owner := map[place]int{}
	for i, r := range regions {
		for j, q := range regions[:i] {
			if q.Metric == r.Metric && slices.Equal(q.Links, r.Links) {
				t.Errorf("regions %d and %d are the same", j, i)
			}
		}
		for _, l := range r.Links {
			at := place{r.Metric, l}
			if j, taken := owner[at]; taken && !cfg.Overlap {
				t.Fatalf("link %d is of region %d and %d", l, j, i)
			}
			owner[at] = i
		}
	}
}
