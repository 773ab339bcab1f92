package segment

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// sumTolerance is how far the mean of a piece may be off the sum of two others',
// as a share of it, and sumSlack the least that is allowed, in points.
const (
	sumTolerance = .04
	sumSlack     = 1.
)

// overlapped is a group as explain sees it.
type overlapped struct {
	root  int32
	mean  float64
	links []schema.LinkID
	parts [2]int // groups that the piece belongs to, if sum
	sum   bool
}

// explain finds pieces whose mean is about the sum of two touching pieces' means:
// there two causes add up, and the piece belongs to both. It makes the groups of
// out anew, such pieces in two of them.
func (m *statisticalMethod) explain(values []float32, out *partition) {
	groups := make([]overlapped, out.len())
	at := map[int32]int{}
	for i := range groups {
		g := overlapped{links: slices.Clone(out.group(i))}
		g.root = m.sets.find(int32(g.links[0]))
		for _, l := range g.links {
			g.mean += float64(values[l]) / float64(len(g.links))
		}
		groups[i], at[g.root] = g, i
	}
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(groups[i].mean, groups[j].mean), i-j) })
	for _, i := range order { // the calmer first: what is itself a sum is no part of one
		m.findParts(groups, at, i)
	}
	joined := make([][]schema.LinkID, len(groups))
	for i, g := range groups {
		if !g.sum {
			joined[i] = append(joined[i], g.links...)
			continue
		}
		for _, part := range g.parts {
			joined[part] = append(joined[part], g.links...)
		}
	}
	out.reset()
	for _, links := range joined {
		if len(links) > 0 {
			slices.Sort(links)
			out.links = append(out.links, links...)
			out.ends = append(out.ends, int32(len(out.links)))
		}
	}
}

// findParts looks for the two neighbours of a piece whose means add up to its
// own best.
func (m *statisticalMethod) findParts(groups []overlapped, at map[int32]int, i int) {
	g := &groups[i]
	var near []int
	for root := range m.borders.of[g.root] {
		if j, ok := at[root]; ok && !groups[j].sum && groups[j].mean >= m.minMean && groups[j].mean < g.mean {
			near = append(near, j)
		}
	}
	slices.Sort(near)
	best := max(sumSlack, sumTolerance*g.mean)
	for k, a := range near {
		for _, b := range near[k+1:] {
			if off := math.Abs(g.mean - groups[a].mean - groups[b].mean); off < best {
				best, g.sum, g.parts = off, true, [2]int{a, b}
			}
		}
	}
}
