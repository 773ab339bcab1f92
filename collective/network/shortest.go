package network

import "slices"

// maxPaths bounds the shortest paths between two hosts that are enumerated.
const maxPaths = 256

// shortest lists the shortest paths between two hosts as egress ports, at most
// maxPaths. Hosts do not forward.
func (n *Router) shortest(from, to int) [][]Port {
	if from < 0 || to < 0 || from >= len(n.neighbours) || to >= len(n.neighbours) || from == to {
		return nil
	}
	distance := n.distances(to)
	if distance[from] < 0 {
		return nil
	}
	var out [][]Port
	var walk func(at int, path []Port)
	walk = func(at int, path []Port) {
		if at == to {
			out = append(out, slices.Clone(path))
			return
		}
		for _, h := range n.neighbours[at] {
			if distance[h.Peer] == distance[at]-1 && (h.Peer == to || n.Nodes[h.Peer].Switch) && len(out) < maxPaths {
				walk(h.Peer, append(path, Port{at, h.Port}))
			}
		}
	}
	walk(from, nil)
	return out
}

// distances is the number of hops of every node to a host; -1 if unreachable.
func (n *Router) distances(to int) []int32 {
	if n.toward == nil {
		n.toward = make([][]int32, len(n.neighbours))
	}
	if n.toward[to] != nil {
		return n.toward[to]
	}
	distance := make([]int32, len(n.neighbours))
	for i := range distance {
		distance[i] = -1
	}
	distance[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != to && !n.Nodes[at].Switch {
			continue
		}
		for _, h := range n.neighbours[at] {
			if distance[h.Peer] < 0 {
				distance[h.Peer] = distance[at] + 1
				queue = append(queue, h.Peer)
			}
		}
	}
	n.toward[to] = distance
	return distance
}
