package diagnose

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// linksBeside are the links of one region at each device, by index in the region.
type linksBeside struct {
	graph *topology.Graph
	at    scratch.Lists[topology.DeviceID, int32]
	found []int32 // scratch of find
}

// newLinksBeside returns those of no region.
func newLinksBeside(g *topology.Graph) linksBeside {
	return linksBeside{graph: g, at: scratch.NewLists[topology.DeviceID, int32](g.NumDevices())}
}

// index takes the links of a region, in place of those of the region before.
func (b *linksBeside) index(links []schema.LinkID) {
	b.at.Clear()
	for i, l := range links {
		from, to := b.graph.Ends(l)
		b.at.Add(from, int32(i))
		b.at.Add(to, int32(i))
	}
}

// find lists the links at any of some devices, ascending. It is valid until the next call.
func (b *linksBeside) find(devices []topology.DeviceID) []int32 {
	b.found = b.found[:0]
	for _, d := range devices {
		for i := range b.at.Of(d) {
			b.found = append(b.found, i)
		}
	}
	slices.Sort(b.found)
	b.found = slices.Compact(b.found)
	return b.found
}
