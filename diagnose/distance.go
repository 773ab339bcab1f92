package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// reach is breadth-first search from a region's switches over the links between switches, and over hosts with links to
// several. It reuses its memory for the next region.
type reach struct {
	graph    *topology.Graph
	switches schema.Bitmap // by device
	at       []reached     // by device
	now      uint32
	queue    []topology.DeviceID
	// The neighbours of each switch, as compressed sparse rows by device.
	first []int32
	next  []topology.DeviceID
}

// reached is the distance of a device in the search with this stamp.
type reached struct {
	stamp uint32
	hops  int8
}

// newReach lists the neighbours of the switches of a fabric.
func newReach(g *topology.Graph, router *routes.Router) reach {
	r := reach{graph: g, switches: schema.NewBitmap(g.NumDevices()), at: make([]reached, g.NumDevices()),
		first: make([]int32, g.NumDevices()+1)}
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.IsSwitch(d) {
			r.switches.Set(int(d))
			r.addBeside(d, router)
		}
		r.first[d+1] = int32(len(r.next))
	}
	return r
}

// addBeside adds the neighbours of a switch: those with a link to it, and those with a link to its hosts, by any adapter
// of these. A host in several rails or planes sends by one what another does not carry.
func (r *reach) addBeside(at topology.DeviceID, router *routes.Router) {
	for _, l := range r.graph.LinksAt(at) {
		next := r.graph.OtherEnd(l, at)
		if r.graph.IsSwitch(next) {
			r.addNext(at, next)
			continue
		}
		for _, own := range router.HostLinks(next) {
			from, to := r.graph.Ends(own)
			r.addNext(at, from)
			r.addNext(at, to)
		}
	}
}

// addNext adds a device to the neighbours of a switch, if it is another switch and not one of them yet.
func (r *reach) addNext(at, next topology.DeviceID) {
	if next != at && r.graph.IsSwitch(next) && !slices.Contains(r.next[r.first[at]:], next) {
		r.next = append(r.next, next)
	}
}

// from finds the devices within most hops of the ends of links, which are at 0. A host is as far as its
// nearest switch.
func (r *reach) from(links []schema.LinkID, most int) {
	if r.now++; r.now == 0 {
		clear(r.at)
		r.now = 1
	}
	r.queue = r.queue[:0]
	for _, l := range links {
		from, to := r.graph.Ends(l)
		r.visit(from, 0)
		r.visit(to, 0)
	}
	for i := 0; i < len(r.queue); i++ {
		at := r.queue[i]
		hops := r.at[at].hops
		if int(hops) >= most {
			break // the rest is farther
		}
		for _, d := range r.next[r.first[at]:r.first[at+1]] {
			if to := &r.at[d]; to.stamp != r.now {
				*to = reached{r.now, hops + 1}
				r.queue = append(r.queue, d)
			}
		}
	}
}

// visit queues a device at a distance, unless it was met.
func (r *reach) visit(d topology.DeviceID, hops int8) {
	if r.at[d].stamp == r.now {
		return
	}
	r.at[d] = reached{r.now, hops}
	if r.switches.Has(int(d)) {
		r.queue = append(r.queue, d)
	}
}

// beyondHops is the distance of what lies beyond the searched radius.
const beyondHops = -1

// hopsTo is the distance of a device from the links, or beyondHops.
func (r *reach) hopsTo(d topology.DeviceID) int {
	if r.at[d].stamp == r.now {
		return int(r.at[d].hops)
	}
	if r.graph.IsSwitch(d) {
		return beyondHops
	}
	best := beyondHops
	for _, l := range r.graph.LinksAt(d) {
		if at := &r.at[r.graph.OtherEnd(l, d)]; at.stamp == r.now && (best == beyondHops || int(at.hops) < best) {
			best = int(at.hops)
		}
	}
	return best
}
