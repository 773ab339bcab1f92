package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// linksBeside are the links of one region at each device, by index in the region.
type linksBeside struct {
	graph  *topology.Graph
	first  []int32 // by device: an index in chains plus 1; 0: no link
	chains []besideLink
	marked []topology.DeviceID // with links
	found  []int32             // scratch of find
}

// besideLink is a link at a device, and the next one there.
type besideLink struct{ link, next int32 }

// newLinksBeside returns those of no region.
func newLinksBeside(g *topology.Graph) linksBeside {
	return linksBeside{graph: g, first: make([]int32, g.NumDevices())}
}

// index takes the links of a region, in place of those of the region before.
func (b *linksBeside) index(links []schema.LinkID) {
	for _, d := range b.marked {
		b.first[d] = 0
	}
	b.marked, b.chains = b.marked[:0], b.chains[:0]
	for i, l := range links {
		from, to := b.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if b.first[d] == 0 {
				b.marked = append(b.marked, d)
			}
			b.chains = append(b.chains, besideLink{int32(i), b.first[d]})
			b.first[d] = int32(len(b.chains))
		}
	}
}

// find lists the links at any of some devices, ascending. It is valid until the next call.
func (b *linksBeside) find(devices []topology.DeviceID) []int32 {
	b.found = b.found[:0]
	for _, d := range devices {
		for at := b.first[d]; at != 0; at = b.chains[at-1].next {
			b.found = append(b.found, b.chains[at-1].link)
		}
	}
	slices.Sort(b.found)
	b.found = slices.Compact(b.found)
	return b.found
}
