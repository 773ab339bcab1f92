package network

import "slices"

// maxPairs bounds the cached pairs of hosts.
const maxPairs = 1 << 14

// Pair caches what the fabric says about flows between two hosts.
type Pair struct {
	Source, Destination int
	Name                string   // of the flow
	known               bool     // paths is set
	paths               [][]Port // see shortest
	unseenWay           *Route   // route of a flow that no switch saw; nil until computed
	lastSeen            []Port   // where the flow of the last query was seen,
	lastWay             *Route   // and its route
}

// Pair returns the cached pair of two hosts.
func (n *Router) Pair(from, to int) *Pair {
	of := n.pairs[[2]int{from, to}]
	if of == nil {
		name := n.NodeName(from) + "->" + n.NodeName(to)
		of = &Pair{Source: from, Destination: to, Name: name}
		if len(n.pairs) < maxPairs {
			n.pairs[[2]int{from, to}] = of
		}
	}
	return of
}

// Route is what is known of the path from one host to another: the egress ports on its
// shortest paths, by distance from the source.
type Route struct {
	Ports []Port
	Sure  []Port // the subset that it certainly takes, in the same order
	// Ports to links below their nominal rate, or that lose packets: certainly on the
	// path, and on one of several paths.
	SlowAt, MaybeSlow []Port
}

// Certain reports whether a flow certainly takes a port.
func (r *Route) Certain(p Port) bool { return slices.Contains(r.Sure, p) }

// Way returns the route of a flow between two hosts, given the ports at which it was
// seen, in order. The routes of a collective's flows are the same in every iteration.
func (n *Router) Way(of *Pair, seen []Port) *Route {
	if !of.known {
		of.paths, of.known = n.shortest(of.Source, of.Destination), true
	}
	switch {
	case len(seen) == 0 && of.unseenWay == nil:
		of.unseenWay = n.find(of.paths, nil)
	case len(seen) > 0 && (of.lastWay == nil || !slices.Equal(of.lastSeen, seen)):
		of.lastSeen, of.lastWay = append(of.lastSeen[:0], seen...), n.find(of.paths, seen)
	}
	if len(seen) > 0 {
		return of.lastWay
	}
	return of.unseenWay
}

// meet is how many of some paths pass a port, and its distance from the source.
type meet struct{ paths, depth int }

// find computes the route of a flow that takes one of the paths, given the ports at
// which it was seen.
func (n *Router) find(paths [][]Port, seen []Port) *Route {
	r := &Route{}
	if len(seen) > 0 {
		if kept := agreeing(paths, seen); len(kept) > 0 {
			paths = kept
		}
	}
	defer n.met.Empty()
	for _, path := range paths {
		for i, p := range path {
			m := n.met.At(p)
			if m.paths == 0 {
				r.Ports = append(r.Ports, p)
			}
			m.paths, m.depth = m.paths+1, i
		}
	}
	n.order(r.Ports)
	for _, p := range r.Ports {
		h, _ := n.Next(p) // a port of a path has a link
		certain := n.met.Get(p).paths == len(paths)
		if certain {
			r.Sure = append(r.Sure, p)
		}
		if l := n.Links[h.Link]; l.BitsPerSecond >= n.nominal[h.Link] && l.ErrorRate == 0 {
			continue
		}
		if certain {
			r.SlowAt = append(r.SlowAt, p)
		} else {
			r.MaybeSlow = append(r.MaybeSlow, p)
		}
	}
	for _, p := range seen {
		if !slices.Contains(r.Ports, p) {
			r.Ports = append(r.Ports, p)
		}
	}
	if len(seen) > 0 {
		sure := r.Sure
		r.Sure = nil
		for _, p := range r.Ports {
			if slices.Contains(sure, p) || slices.Contains(seen, p) {
				r.Sure = append(r.Sure, p)
			}
		}
	}
	return r
}

// order sorts the ports of find by distance from the source.
func (n *Router) order(ports []Port) {
	slices.SortFunc(ports, func(a, b Port) int {
		if d := n.met.Get(a).depth - n.met.Get(b).depth; d != 0 {
			return d
		}
		return ComparePorts(a, b)
	})
}

// agreeing returns the paths with the most of the ports at which a flow was seen.
func agreeing(paths [][]Port, seen []Port) [][]Port {
	best := 0
	var out [][]Port
	for _, path := range paths {
		n := 0
		for _, p := range path {
			if slices.Contains(seen, p) {
				n++
			}
		}
		if n > best {
			best, out = n, nil
		}
		if n == best && n > 0 {
			out = append(out, path)
		}
	}
	return out
}
