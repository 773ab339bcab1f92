package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/index"
)

// mutualShare is the share of the stalled links within a dragonfly's group into a router that stall in the other direction,
// too, if the router exchanges with the others; fewestMutual is how many do at least. Where several trees leave a group,
// they have as many links in both directions as cables by which they leave.
const (
	mutualShare  = 2. / 3
	fewestMutual = 2
)

// groupStall is the stall of a link within a group.
type groupStall struct {
	group index.Group
	stall float64
}

// markExchanging makes the routers of a dragonfly's group that exchange the sinks of the level links between them. A link
// within a group of which the traffic ends at the next router may also seem to wait for all that leaves the group there. But
// of a tree, which leaves a group by few cables, links stall only towards these.
func (t *trees) markExchanging() {
	t.mutual = t.mutual[:0]
	for i, l := range t.Links {
		if t.Graph.IsWithinGroup(l) && t.isStalled(t.To[i], t.From[i]) {
			t.mutual = append(t.mutual, groupStall{t.Graph.Group[t.To[i]], t.Stall[i]})
		}
	}
	slices.SortFunc(t.mutual, func(a, b groupStall) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.stall, b.stall)) })
	for first, end := 0, 0; first < len(t.mutual); first = end {
		group := t.mutual[first].group
		for end = first + 1; end < len(t.mutual) && t.mutual[end].group == group; end++ {
		}
		t.usual[group] = t.mutual[(first+end)/2].stall
	}
	for _, d := range t.Entered {
		if t.isMutual(d) {
			t.markLevel(d, t.usual[t.Graph.Group[d]])
		}
	}
}

// isMutual reports whether most stalled links within a group into a router stall in both directions.
func (t *trees) isMutual(d index.Device) bool {
	within, mutual := 0., 0.
	for _, i := range t.Into.Of(d) {
		if t.Graph.IsWithinGroup(t.Links[i]) {
			within++
			if t.isStalled(d, t.From[i]) {
				mutual++
			}
		}
	}
	return mutual >= fewestMutual && mutual >= mutualShare*within
}

// isStalled reports whether a link from one device to another stalls.
func (t *trees) isStalled(from, to index.Device) bool {
	for _, j := range t.Leaving.Of(from) {
		if t.To[j] == to {
			return true
		}
	}
	return false
}

// markLevel makes a router the sink of the links within its group that stall as is usual there: those of a tree stall more.
func (t *trees) markLevel(d index.Device, usual float64) {
	for _, i := range t.Into.Of(d) {
		if t.sink[i] < 0 && t.Graph.IsWithinGroup(t.Links[i]) && math.Abs(t.Stall[i]-usual) <= levelDeviations*t.Noise.Sigma(usual) {
			t.sink[i] = placeAt(d)
		}
	}
}

// joinAcross joins causes of two groups of which each waits for the other, over both directions of a cable, if they are
// level and no tree begins at a sink of either: an exchange of leaves of several groups.
func (c *causes) joinAcross(t *trees, s *sinks, h *shares) {
	c.sums = scratch.Zeroed(c.sums, len(h.fall))
	for a := range s.all.Len() {
		x, p := &s.all[a], &c.sums[c.causeOf(a)]
		p.links, p.stall = p.links+float64(x.levels), p.stall+x.levelSum
		if x.beginsTree() {
			p.links = math.Inf(-1)
		}
	}
	for i := range t.Links.Len() {
		if !t.Graph.IsBetweenGroups(t.Links[i]) {
			continue
		}
		for _, j := range t.Leaving.Of(t.To[i]) {
			if t.To[j] == t.From[i] && c.areLevelAcross(t, h.main(i), h.main(j)) {
				c.sets.Union(h.main(i), h.main(j))
			}
		}
	}
}

// areLevelAcross reports whether two causes, neither of them a tree, are level.
func (c *causes) areLevelAcross(t *trees, a, b causeID) bool {
	if a < 0 || b < 0 || c.sums[a].links <= 0 || c.sums[b].links <= 0 {
		return false
	}
	p, q := c.sums[a].stall/c.sums[a].links, c.sums[b].stall/c.sums[b].links
	return math.Abs(p-q) <= pairSigmas*t.Noise.Sigma(max(p, q))
}
