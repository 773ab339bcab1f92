package report

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// ways maps the flows of a report to links of a graph.
type ways struct {
	g      *topology.Graph
	router *routing.Router
	of     *routing.Channels
	links  [][][]schema.LinkID // by way: its equal paths, computed on demand
	known  []bool
	r      *Report
}

// hashes is how many times a flow's path is sampled where a hash chooses among equal
// paths that are not recorded.
const hashes = 64

// newWays prepares the paths of a report's flows in a graph.
func newWays(r *Report, g *topology.Graph) (*ways, error) {
	w := &ways{g: g, of: routing.NewChannels(g), r: r, links: make([][][]schema.LinkID, len(r.Ways)), known: make([]bool, len(r.Ways))}
	var err error
	w.router, err = routing.New(w.of, routing.Default)
	return w, err
}

// through returns, by region with links inside, the share of a way's equal paths that
// lead through it.
func (w *ways) through(way int, inside map[schema.LinkID]int) map[int]float64 {
	if !w.known[way] {
		w.links[way], w.known[way] = w.paths(&w.r.Ways[way]), true
	}
	var out map[int]float64
	for _, path := range w.links[way] {
		for i, l := range path {
			region, ok := inside[l]
			if !ok || seen(path[:i], region, inside) {
				continue
			}
			if out == nil {
				out = map[int]float64{}
			}
			out[region] += 1 / float64(len(w.links[way]))
		}
	}
	return out
}

// seen reports whether any link of a path is in a region.
func seen(path []schema.LinkID, region int, inside map[schema.LinkID]int) bool {
	return slices.ContainsFunc(path, func(l schema.LinkID) bool {
		at, ok := inside[l]
		return ok && at == region
	})
}

// paths returns a flow's recorded path, else the router's, sampled several times if a
// hash chooses among equals.
func (w *ways) paths(f *Way) [][]schema.LinkID {
	if recorded := w.recorded(f.Via); recorded != nil {
		return [][]schema.LinkID{recorded}
	}
	draws := 1
	if w.router.Policy() == routing.ECMP {
		draws = hashes
	}
	var out [][]schema.LinkID
	from, to := w.r.Devices[f.From], w.r.Devices[f.To]
	for rail := range min(len(from), len(to)) {
		src, ok := w.g.FindDevice(from[rail])
		dst, found := w.g.FindDevice(to[rail])
		if !ok || !found || src == dst {
			continue
		}
		for hash := range draws {
			if path, ok := w.router.Append(nil, src, dst, uint64(hash)*0x9e3779b97f4a7c15); ok {
				out = append(out, w.linksOf(path))
			}
		}
	}
	return out
}

func (w *ways) linksOf(path []routing.Channel) []schema.LinkID {
	links := make([]schema.LinkID, len(path))
	for i, channel := range path {
		links[i] = w.of.Link(channel)
	}
	return links
}

// recorded returns the links between the recorded nodes; nil if the graph does not have
// all of them.
func (w *ways) recorded(nodes []string) (links []schema.LinkID) {
	for i := 1; i < len(nodes); i++ {
		a, ok := w.g.FindDevice(nodes[i-1])
		b, found := w.g.FindDevice(nodes[i])
		if !ok || !found {
			return nil
		}
		n := len(links)
		for _, channel := range w.of.Out(a) {
			if _, to := w.of.Ends(channel); to == b {
				links = append(links, w.of.Link(channel))
			}
		}
		if len(links) == n {
			return nil
		}
	}
	return links
}
