// Package routes says where on a fabric the traffic of a job can be, by the shape of the fabric alone: the devices of its
// nodes go in; the load of each link under a uniform exchange comes out, and which links are on the way to and from others.
// On a torus or mesh routes are dimension-order, so that what they have in common can be counted without following each
// (Grid); elsewhere they are all shortest paths, equally (ShortestPaths). It knows nothing of what links carry or stall.
package routes

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Set is where a job's traffic can be: the load of each link under a uniform exchange of all its nodes
// with all by the default routing, as a share of what the nodes send; and links that it would use to reach
// what is outside of it, the file system say.
type Set struct {
	Links []schema.LinkID // ascending, that the exchange uses
	Load  []float32       // by Links: share of what the nodes send that crosses the link
	Total float64         // sum of Load: links that a byte crosses in the mean
	Gates []schema.LinkID // ascending, at the border: where traffic with others enters and leaves the job
	// On a grid, by dimension d: the places of its nodes in the dimensions before d, and in those behind it.
	prefix, suffix []schema.Bitmap
	nodes          []lineNodes
	devices        []topology.DeviceID // of which they are
}

// Router finds the routes of jobs on one graph. Its memory is used again by the next job, and it is not safe for
// concurrent use.
type Router struct {
	Grid  *Grid          // nil where there is no grid of switches
	Paths *ShortestPaths // nil where there is one

	graph  *topology.Graph
	load   []float64 // by link
	used   []schema.LinkID
	leaves []topology.DeviceID
	known  map[uint64]*Set // lately found, by hash of the devices
}

// NewRouter makes the router of a graph.
func NewRouter(g *topology.Graph) *Router {
	r := &Router{graph: g, load: make([]float64, g.NumLinks())}
	if g.Grid() != nil {
		r.Grid = newGrid(g)
	}
	if r.Grid == nil {
		r.Paths = newShortestPaths(g)
	}
	return r
}

// maxKnown bounds the routes that are kept to be shared.
const maxKnown = 1024

// Of finds the routes of a job's devices, once for jobs on the same ones: thousands that start in a minute mostly
// run where others did.
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

// add puts load on a link.
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
		r.Grid.places(out, devices)
	}
	return out
}

// LeafOf is the switch of a host, or the switch itself.
func (r *Router) LeafOf(d topology.DeviceID) topology.DeviceID {
	if r.graph.IsSwitch(d) || r.Paths == nil {
		return d
	}
	return r.Paths.leaf[d]
}

// maxGates bounds the links at the border of a job.
const maxGates = 1 << 14

// gates are the links at the job's devices, and at the leaves of its hosts.
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
			leaf, to := r.graph.Ends(l)
			if leaf == d {
				leaf = to
			}
			for _, up := range r.graph.LinksAt(leaf) {
				a, b := r.graph.Ends(up)
				if r.graph.IsSwitch(a) && r.graph.IsSwitch(b) {
					gates = append(gates, up)
				}
			}
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// OnTheWay is the weight of links that traffic between a job's nodes and any others can take, of those to them or those
// from them, whichever is more: the less of a link, the more jobs that holds for.
func (r *Router) OnTheWay(s *Set, links []schema.LinkID, weight []float64) float64 {
	if r.Grid != nil {
		return r.Grid.onTheWay(s, links, weight)
	}
	r.leaves = r.leaves[:0]
	for _, d := range s.devices {
		r.leaves = append(r.leaves, r.LeafOf(d))
	}
	slices.Sort(r.leaves)
	r.leaves = slices.Compact(r.leaves)
	return r.Paths.onTheWay(r.leaves, links, weight)
}

// On is the load of a link, 0 if the exchange does not use it.
func (s *Set) On(l schema.LinkID) float64 {
	if i, found := slices.BinarySearch(s.Links, l); found {
		return float64(s.Load[i])
	}
	return 0
}
