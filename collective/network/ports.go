package network

// maxPortNumber bounds the port numbers with an index in dense tables: InfiniBand
// switches have at most that many.
const maxPortNumber = 254

// numberPorts numbers the ports of the fabric's links consecutively, node by node.
func (n *Router) numberPorts() {
	n.first = make([]int32, len(n.neighbours)+1)
	for node, hops := range n.neighbours {
		highest := 0
		for _, h := range hops {
			if h.Port <= maxPortNumber {
				highest = max(highest, h.Port)
			}
		}
		n.first[node+1] = n.first[node] + int32(highest)
	}
	n.hopOf = make([]int32, n.first[len(n.neighbours)])
	for node, hops := range n.neighbours {
		for i := len(hops) - 1; i >= 0; i-- { // the first of two hops with the same port wins
			if k := n.number(Port{node, hops[i].Port}); k >= 0 {
				n.hopOf[k] = int32(i) + 1
			}
		}
	}
}

// number is a port's index in dense tables; -1 if it has none.
func (n *Router) number(p Port) int {
	if p.Node < 0 || p.Node >= len(n.neighbours) || p.Port < 1 || p.Port > int(n.first[p.Node+1]-n.first[p.Node]) {
		return -1
	}
	return int(n.first[p.Node]) + p.Port - 1
}

// Next is the hop through an egress port; ok is false if the fabric has none.
func (n *Router) Next(p Port) (Hop, bool) {
	if k := n.number(p); k >= 0 {
		if i := n.hopOf[k]; i > 0 {
			return n.neighbours[p.Node][i-1], true
		}
		return Hop{}, false
	}
	if p.Node >= 0 && p.Node < len(n.neighbours) && p.Port > maxPortNumber {
		for _, h := range n.neighbours[p.Node] {
			if h.Port == p.Port {
				return h, true
			}
		}
	}
	return Hop{}, false
}
