package linkset

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// Groups is a list of groups of links in contiguous memory. Groups may overlap.
type Groups struct {
	Links []schema.LinkID // ascending within a group
	Ends  []int32         // by group: its end in Links
}

// Reset removes all groups and keeps the memory.
func (g *Groups) Reset() { g.Links, g.Ends = g.Links[:0], g.Ends[:0] }

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.Ends) }

// Group returns group i, valid until the next Reset.
func (g *Groups) Group(i int) []schema.LinkID {
	begin := int32(0)
	if i > 0 {
		begin = g.Ends[i-1]
	}
	return g.Links[begin:g.Ends[i]:g.Ends[i]]
}

// FromLabels appends a group per label. labels has each link's label, or -1 for none;
// count is scratch space, one zero per label.
func (g *Groups) FromLabels(labels, count []int32) {
	for _, l := range labels {
		if l >= 0 {
			count[l]++
		}
	}
	at := int32(len(g.Links))
	for l, n := range count {
		if n > 0 {
			count[l] = at
			at += n
			g.Ends = append(g.Ends, at)
		}
	}
	g.Links = slices.Grow(g.Links, int(at)-len(g.Links))[:at]
	for i, l := range labels {
		if l >= 0 {
			g.Links[count[l]] = schema.LinkID(i)
			count[l]++
		}
	}
}
