package network

import "cmp"

// rateClasses sets the nominal link rates: the most frequent rate between the same two
// levels of the fabric (level: hops to the nearest host), but at least the given line
// rate.
func (n *Router) rateClasses(lineRate int64) {
	level := n.levels()
	count := map[[2]int]map[int64]int{}
	class := func(l Link) [2]int { return [2]int{min(level[l.A], level[l.B]), max(level[l.A], level[l.B])} }
	for _, h := range n.neighbours {
		for _, e := range h {
			l := n.Links[e.Link]
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
			n.Fastest = max(n.Fastest, n.nominal[i])
		}
	}
	n.Fastest = cmp.Or(n.Fastest, 25_000_000_000)
}

// levels are the hops of nodes to the nearest host; -1 of those that no host reaches.
func (n *Router) levels() []int {
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
		for _, h := range n.neighbours[at] {
			if level[h.Peer] < 0 {
				level[h.Peer] = level[at] + 1
				queue = append(queue, h.Peer)
			}
		}
	}
	return level
}

// Nominal is the nominal rate of the link of a hop, bits per second.
func (n *Router) Nominal(h Hop) int64 { return n.nominal[h.Link] }

// Between is the nominal rate between two hosts: the lower one of their links, and of
// the slowest link between switches if they are on different switches; 0 if unknown.
func (n *Router) Between(from, to int) int64 {
	if min(from, to) < 0 || max(from, to) >= len(n.neighbours) || len(n.neighbours[from]) == 0 || len(n.neighbours[to]) == 0 {
		return 0
	}
	a, b := n.neighbours[from][0], n.neighbours[to][0]
	rate := min(n.nominal[a.Link], n.nominal[b.Link])
	if a.Peer != b.Peer && n.least > 0 {
		rate = min(rate, n.least)
	}
	return rate
}
