package backpressure

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

// Regions are the regions of a snapshot: groups of links, each with the root where its back pressure begins.
type Regions struct {
	*linkset.Groups
	Roots []Root // by group
}

// Root is where a group's back pressure begins: a switch, and the link that leaves it if known.
type Root struct {
	Device index.Device  // NoDevice: the group has no single root
	Link   schema.LinkID // NoLink: an unknown port, full but not stalled
}

// NoDevice is the device of NoRoot.
const NoDevice = index.Device(-1)

// NoRoot is the root of a group that has no single one.
var NoRoot = Root{Device: NoDevice, Link: schema.NoLink}

// Begin makes groups, which must be empty, those of the regions.
func (r *Regions) Begin(out *linkset.Groups) { r.Groups, r.Roots = out, r.Roots[:0] }

// End ends a region at the last link, with its root.
func (r *Regions) End(root Root) {
	r.Ends, r.Roots = append(r.Ends, int32(len(r.Links))), append(r.Roots, root)
}

// Forget removes all regions.
func (r *Regions) Forget() {
	r.Reset()
	r.Roots = r.Roots[:0]
}

// Keep keeps the regions for which keeps holds.
func (r *Regions) Keep(keeps func(links []schema.LinkID) bool) {
	links, groups, begin := 0, 0, int32(0)
	for g, end := range r.Ends {
		if group := r.Links[begin:end]; keeps(group) {
			links += copy(r.Links[links:], group)
			r.Ends[groups], r.Roots[groups] = int32(links), r.Roots[g]
			groups++
		}
		begin = end
	}
	r.Links, r.Ends, r.Roots = r.Links[:links], r.Ends[:groups], r.Roots[:groups]
}

// PortShare is the least stall of a port, relative to what waits for it, that makes it the cause.
const PortShare = .85

// UsualFall is the share of the stall of one hop that usually shows at the hop before.
const UsualFall = .8
