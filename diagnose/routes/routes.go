package routes

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Set is where the traffic of a job can be: the load of each link under a uniform all-to-all exchange of its nodes by
// the default routing, as a share of what the nodes send, and the links by which it reaches nodes outside, such as the
// file system.
type Set struct {
	Links []schema.LinkID // ascending, used by the exchange
	Load  []float32       // by Links: share of the nodes' traffic that crosses the link
	Total float64         // sum of Load: links that a byte crosses on average
	Gates []schema.LinkID // ascending, at the border: where traffic with other nodes enters and leaves the job
	// On a grid, by dimension d: the places of the job's nodes in the dimensions before d, and in those after it.
	prefix, suffix []schema.Bitmap
	nodes          []lineNodes
	devices        []topology.DeviceID // of the job
	leaves         []topology.DeviceID // not on a grid: the switches of these, ascending
}

// Router finds the routes of jobs on one graph. It reuses its memory and is not safe for concurrent use.
type Router struct {
	Grid  *Grid          // nil unless the switches form a grid
	Paths *ShortestPaths // nil if Grid is set

	graph *topology.Graph
	load  []float64 // by link
	used  []schema.LinkID
	known map[uint64]*Set // cache, by hash of the devices
	// Of hosts with several adapters, each a device: the links of all, by device.
	hostLinks map[topology.DeviceID][]schema.LinkID
}

// NewRouter returns the router of a graph.
func NewRouter(g *topology.Graph) *Router {
	r := &Router{graph: g, load: make([]float64, g.NumLinks())}
	if g.Grid() != nil {
		r.Grid = newGrid(g)
	}
	if r.Grid == nil {
		r.Paths = newShortestPaths(g)
		r.hostLinks = linksOfAdapters(g)
	}
	return r
}

// linksOfAdapters lists the links of hosts with several adapters, by each of these.
func linksOfAdapters(g *topology.Graph) map[topology.DeviceID][]schema.LinkID {
	links, adapters := map[topology.DeviceID][]schema.LinkID{}, map[topology.DeviceID][]topology.DeviceID{}
	for d, host := range topology.HostsOf(g) {
		if adapter := topology.DeviceID(d); !g.IsSwitch(adapter) {
			adapters[host] = append(adapters[host], adapter)
		}
	}
	for _, of := range adapters {
		if len(of) == 1 {
			continue
		}
		var all []schema.LinkID
		for _, adapter := range of {
			all = append(all, g.LinksAt(adapter)...)
		}
		for _, adapter := range of {
			links[adapter] = all
		}
	}
	return links
}

// HostLinks lists the links at a host, given by any of its adapters.
func (r *Router) HostLinks(d topology.DeviceID) []schema.LinkID {
	if links, ok := r.hostLinks[d]; ok {
		return links
	}
	return r.graph.LinksAt(d)
}

// maxKnown limits the cached routes.
const maxKnown = 1024

// Of returns the routes of a job's devices, cached by the set of devices: when thousands of jobs start in a minute,
// most run where others did.
func (r *Router) Of(devices []topology.DeviceID) *Set {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, d := range devices {
		hash = (hash ^ uint64(d)) * 1099511628211
	}
	if known := r.known[hash]; known != nil && slices.Equal(known.devices, devices) {
		return known
	}
	if r.known == nil || len(r.known) == maxKnown {
		r.known = map[uint64]*Set{}
	}
	found := r.route(devices)
	r.known[hash] = found
	return found
}

// add adds load to a link.
func (r *Router) add(l schema.LinkID, share float64) {
	if r.load[l] == 0 {
		r.used = append(r.used, l)
	}
	r.load[l] += share
}

// route finds the routes of a job's devices.
func (r *Router) route(devices []topology.DeviceID) *Set {
	out := &Set{devices: slices.Clone(devices)}
	if len(devices) > 1 {
		if r.Grid != nil {
			r.Grid.exchange(r, devices)
		} else {
			r.Paths.exchange(r, devices)
		}
	}
	slices.Sort(r.used)
	out.Links, out.Load = make([]schema.LinkID, len(r.used)), make([]float32, len(r.used))
	for i, l := range r.used {
		out.Links[i], out.Load[i] = l, float32(r.load[l])
		out.Total += r.load[l]
		r.load[l] = 0
	}
	r.used = r.used[:0]
	out.Gates = r.gates(devices)
	if r.Grid != nil {
		r.Grid.placeNodes(out, devices)
	} else {
		out.leaves = r.leavesOf(devices)
	}
	return out
}

// LeavesOf lists the switches of a host, ascending; of a switch, and on a grid, the device itself.
func (r *Router) LeavesOf(d topology.DeviceID) []topology.DeviceID {
	if r.Paths == nil {
		return []topology.DeviceID{d}
	}
	return r.Paths.leaves[d]
}

// leavesOf lists the switches of hosts, ascending.
func (r *Router) leavesOf(devices []topology.DeviceID) (leaves []topology.DeviceID) {
	for _, d := range devices {
		leaves = append(leaves, r.LeavesOf(d)...)
	}
	slices.Sort(leaves)
	return slices.Clip(slices.Compact(leaves))
}

// maxGates limits the links at the border of a job.
const maxGates = 1 << 14

// gates are the links at the job's devices, and the links to other switches at the leaves of its hosts.
func (r *Router) gates(devices []topology.DeviceID) []schema.LinkID {
	var gates []schema.LinkID
	for _, d := range devices {
		gates = append(gates, r.graph.LinksAt(d)...)
		if len(gates) > maxGates {
			break
		}
		if r.graph.IsSwitch(d) {
			continue
		}
		for _, l := range r.graph.LinksAt(d) {
			for _, up := range r.graph.LinksAt(r.graph.OtherEnd(l, d)) {
				if r.graph.BetweenSwitches(up) {
					gates = append(gates, up)
				}
			}
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// OnTheWay is the weight of the links that traffic to, or traffic from, a job's nodes can take, whichever is greater. A
// link counts less if it fits many jobs.
func (r *Router) OnTheWay(s *Set, links []schema.LinkID, weight []float64) float64 {
	if r.Grid != nil {
		return r.Grid.onTheWay(s, links, weight)
	}
	return r.Paths.onTheWay(s.leaves, links, weight)
}

// On is the load of a link, 0 if the exchange does not use it.
func (s *Set) On(l schema.LinkID) float64 {
	if i, found := slices.BinarySearch(s.Links, l); found {
		return float64(s.Load[i])
	}
	return 0
}
