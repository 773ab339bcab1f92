package network

// Hop leads from a node to a neighbour.
type Hop struct {
	Port     int // of the node
	Peer     int // the neighbour
	PeerPort int // of the neighbour
	Link     int // index in Fabric.Links
}

// Router answers questions about a fabric. It is not safe for concurrent use: it keeps its answers.
type Router struct {
	*Fabric
	Fastest    int64 // highest nominal rate of a host's link, bits per second
	neighbours [][]Hop
	nominal    []int64          // by link: nominal rate, bits per second
	least      int64            // lowest nominal rate between switches; 0: none
	toward     [][]int32        // by host: the distances of all nodes to it, filled on demand
	pairs      map[[2]int]*Pair // by source and destination, filled on demand; at most maxPairs
	met        Table[meet]      // used by find; empty between calls
	first      []int32          // by node: the number of its first port; see number
	hopOf      []int32          // by a port's number: 1 + its index in the node's hops; 0: no link
}

// New lists the neighbours of a fabric's nodes, and finds the nominal rates of its links: at least lineRate, bits
// per second.
func New(f *Fabric, lineRate int64) *Router {
	n := &Router{Fabric: f, neighbours: make([][]Hop, len(f.Nodes)), pairs: map[[2]int]*Pair{}}
	n.met = NewTable[meet](n)
	for i, l := range f.Links {
		if min(l.A, l.B) < 0 || max(l.A, l.B) >= len(f.Nodes) {
			continue
		}
		n.neighbours[l.A] = append(n.neighbours[l.A], Hop{l.APort, l.B, l.BPort, i})
		n.neighbours[l.B] = append(n.neighbours[l.B], Hop{l.BPort, l.A, l.APort, i})
	}
	n.numberPorts()
	n.rateClasses(lineRate)
	return n
}

// Hops lists the neighbours of a node, in the order of the links.
func (n *Router) Hops(node int) []Hop { return n.neighbours[node] }

// NIC is the port from which a host sends.
func (n *Router) NIC(host int) Port {
	if hops := n.neighbours[host]; len(hops) > 0 {
		return Port{host, hops[0].Port}
	}
	return Port{host, 1}
}

// ToHost reports whether an egress port leads to a host, and to which.
func (n *Router) ToHost(p Port) (int, bool) {
	h, ok := n.Next(p)
	return h.Peer, ok && !n.Nodes[h.Peer].Switch
}

// NodeName is the name of a node; "?" of one that the fabric lacks.
func (n *Router) NodeName(node int) string {
	if node < 0 || node >= len(n.Nodes) {
		return "?"
	}
	return n.Nodes[node].Name
}
