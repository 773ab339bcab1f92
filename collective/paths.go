package collective

import (
	"cmp"
	"slices"
)

// port is an egress port of a node.
type port struct{ node, port int }

// hop is a neighbour of a node.
type hop struct {
	port, peer, peerPort int
	link                 int
}

// network answers questions about a fabric.
type network struct {
	*Fabric
	hops    [][]hop
	nominal []int64          // nominal link rate, bits per second
	least   int64            // lowest nominal rate between switches; 0: none
	fastest int64            // highest nominal rate of a host's link
	toward  [][]int32        // by host: the distances of all nodes to it, filled on demand
	pairs   map[[2]int]*pair // by source and destination, filled on demand; at most maxPairs
	met     portTable[meet]  // used by find; empty between calls
	first   []int32          // by node: the number of its first port; see number
	hopOf   []int32          // by a port's number: 1 + its index in the node's hops; 0: no link

	observed portTable[observed]  // of the current run; empty between runs
	called   portTable[portWords] // see words
}

// pair caches what the fabric says about flows between two hosts.
type pair struct {
	source, destination int
	name, who           string   // of the flow, and as a culprit
	known               bool     // paths is set
	paths               [][]port // see shortest
	unseenWay           *route   // route of a flow that no switch saw; nil until computed
	lastSeen            []port   // where the flow of the last query was seen,
	lastWay             *route   // and its route
}

// meet is how many of some paths pass a port, and its distance from the source.
type meet struct{ paths, depth int }

// maxPairs bounds the cached pairs of hosts.
const maxPairs = 1 << 14

// route is what is known of the path from one host to another: the egress ports on its
// shortest paths, by distance from the source.
type route struct {
	ports []port
	sure  []port // the subset that it certainly takes, in the same order
	// Ports to links below their nominal rate, or that lose packets: certainly on the
	// path, and on one of several paths.
	slowAt, maybeSlow []port
}

// certain reports whether the flow certainly takes a port.
func (r *route) certain(p port) bool { return slices.Contains(r.sure, p) }

// maxPaths bounds the shortest paths between two hosts that are enumerated.
const maxPaths = 256

func newNetwork(f *Fabric, lineRate int64) *network {
	n := &network{Fabric: f, hops: make([][]hop, len(f.Nodes)), pairs: map[[2]int]*pair{}}
	n.met.net, n.observed.net, n.called.net = n, n, n
	for i, l := range f.Links {
		if min(l.A, l.B) < 0 || max(l.A, l.B) >= len(f.Nodes) {
			continue
		}
		n.hops[l.A] = append(n.hops[l.A], hop{l.APort, l.B, l.BPort, i})
		n.hops[l.B] = append(n.hops[l.B], hop{l.BPort, l.A, l.APort, i})
	}
	n.numberPorts()
	n.rateClasses(lineRate)
	return n
}

// rateClasses sets the nominal link rates: the most frequent rate between the same two
// levels of the fabric (level: hops to the nearest host), but at least the given line
// rate.
func (n *network) rateClasses(lineRate int64) {
	level := n.levels()
	count := map[[2]int]map[int64]int{}
	class := func(l Link) [2]int { return [2]int{min(level[l.A], level[l.B]), max(level[l.A], level[l.B])} }
	for _, h := range n.hops {
		for _, e := range h {
			l := n.Links[e.link]
			if count[class(l)] == nil {
				count[class(l)] = map[int64]int{}
			}
			count[class(l)][l.BitsPerSecond]++
		}
	}
	n.nominal = make([]int64, len(n.Links))
	for i, l := range n.Links {
		if min(l.A, l.B) < 0 || max(l.A, l.B) >= len(n.Nodes) {
			continue
		}
		best, most := int64(0), 0
		for rate, times := range count[class(l)] {
			if times > most || times == most && rate > best {
				best, most = rate, times
			}
		}
		n.nominal[i] = max(best, lineRate)
		switch between := n.Nodes[l.A].Switch && n.Nodes[l.B].Switch; {
		case between && (n.least == 0 || n.nominal[i] < n.least):
			n.least = n.nominal[i]
		case !between:
			n.fastest = max(n.fastest, n.nominal[i])
		}
	}
	n.fastest = cmp.Or(n.fastest, 25_000_000_000)
}

// between is the nominal rate between two hosts: the lower one of their links, and of
// the slowest link between switches if they are on different switches; 0 if unknown.
func (n *network) between(from, to int) int64 {
	if min(from, to) < 0 || max(from, to) >= len(n.hops) || len(n.hops[from]) == 0 || len(n.hops[to]) == 0 {
		return 0
	}
	a, b := n.hops[from][0], n.hops[to][0]
	rate := min(n.nominal[a.link], n.nominal[b.link])
	if a.peer != b.peer && n.least > 0 {
		rate = min(rate, n.least)
	}
	return rate
}

func (n *network) levels() []int {
	level := make([]int, len(n.Nodes))
	var queue []int
	for i, node := range n.Nodes {
		if level[i] = -1; !node.Switch {
			level[i] = 0
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, h := range n.hops[at] {
			if level[h.peer] < 0 {
				level[h.peer] = level[at] + 1
				queue = append(queue, h.peer)
			}
		}
	}
	return level
}

// nic is the port from which a host sends.
func (n *network) nic(host int) port {
	if hops := n.hops[host]; len(hops) > 0 {
		return port{host, hops[0].port}
	}
	return port{host, 1}
}

// toHost reports whether an egress port leads to a host, and to which.
func (n *network) toHost(p port) (int, bool) {
	h, ok := n.next(p)
	return h.peer, ok && !n.Nodes[h.peer].Switch
}

// pair returns the cached pair of two hosts.
func (n *network) pair(from, to int) *pair {
	of := n.pairs[[2]int{from, to}]
	if of == nil {
		name := n.nodeName(from) + "->" + n.nodeName(to)
		of = &pair{source: from, destination: to, name: name, who: "flow " + name}
		if len(n.pairs) < maxPairs {
			n.pairs[[2]int{from, to}] = of
		}
	}
	return of
}

// way returns the route of a flow between two hosts, given the ports at which it was
// seen, in order. The routes of a collective's flows are the same in every iteration.
func (n *network) way(of *pair, seen []port) *route {
	if !of.known {
		of.paths, of.known = n.shortest(of.source, of.destination), true
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

// find computes the route of a flow that takes one of the paths, given the ports at
// which it was seen.
func (n *network) find(paths [][]port, seen []port) *route {
	r := &route{}
	if len(seen) > 0 {
		if kept := agreeing(paths, seen); len(kept) > 0 {
			paths = kept
		}
	}
	defer n.met.empty()
	for _, path := range paths {
		for i, p := range path {
			m := n.met.at(p)
			if m.paths == 0 {
				r.ports = append(r.ports, p)
			}
			m.paths, m.depth = m.paths+1, i
		}
	}
	n.order(r.ports)
	for _, p := range r.ports {
		h, _ := n.next(p) // a port of a path has a link
		certain := n.met.get(p).paths == len(paths)
		if certain {
			r.sure = append(r.sure, p)
		}
		if l := n.Links[h.link]; l.BitsPerSecond >= n.nominal[h.link] && l.ErrorRate == 0 {
			continue
		}
		if certain {
			r.slowAt = append(r.slowAt, p)
		} else {
			r.maybeSlow = append(r.maybeSlow, p)
		}
	}
	for _, p := range seen {
		if !slices.Contains(r.ports, p) {
			r.ports = append(r.ports, p)
		}
	}
	if len(seen) > 0 {
		sure := r.sure
		r.sure = nil
		for _, p := range r.ports {
			if slices.Contains(sure, p) || slices.Contains(seen, p) {
				r.sure = append(r.sure, p)
			}
		}
	}
	return r
}

// order sorts the ports of find by distance from the source.
func (n *network) order(ports []port) {
	slices.SortFunc(ports, func(a, b port) int {
		if d := n.met.get(a).depth - n.met.get(b).depth; d != 0 {
			return d
		}
		return comparePorts(a, b)
	})
}

func comparePorts(a, b port) int {
	if a.node != b.node {
		return a.node - b.node
	}
	return a.port - b.port
}

// agreeing returns the paths with the most of the ports at which a flow was seen.
func agreeing(paths [][]port, seen []port) [][]port {
	best := 0
	var out [][]port
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

// distances is the number of hops of every node to a host; -1 if unreachable.
func (n *network) distances(to int) []int32 {
	if n.toward == nil {
		n.toward = make([][]int32, len(n.hops))
	}
	if n.toward[to] != nil {
		return n.toward[to]
	}
	distance := make([]int32, len(n.hops))
	for i := range distance {
		distance[i] = -1
	}
	distance[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != to && !n.Nodes[at].Switch {
			continue
		}
		for _, h := range n.hops[at] {
			if distance[h.peer] < 0 {
				distance[h.peer] = distance[at] + 1
				queue = append(queue, h.peer)
			}
		}
	}
	n.toward[to] = distance
	return distance
}

// shortest lists the shortest paths between two hosts as egress ports, at most
// maxPaths. Hosts do not forward.
func (n *network) shortest(from, to int) [][]port {
	if from < 0 || to < 0 || from >= len(n.hops) || to >= len(n.hops) || from == to {
		return nil
	}
	distance := n.distances(to)
	if distance[from] < 0 {
		return nil
	}
	var out [][]port
	var walk func(at int, path []port)
	walk = func(at int, path []port) {
		if at == to {
			out = append(out, slices.Clone(path))
			return
		}
		for _, h := range n.hops[at] {
			if distance[h.peer] == distance[at]-1 && (h.peer == to || n.Nodes[h.peer].Switch) && len(out) < maxPaths {
				walk(h.peer, append(path, port{at, h.port}))
			}
		}
	}
	walk(from, nil)
	return out
}
