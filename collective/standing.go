package collective

import (
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// standingCycle returns a shortest cycle among the switch ports that were paused and
// never resumed, each leading to the switch of the next: it finds a deadlock from PFC
// frames alone where telemetry shows no path through it. nil: none.
func (st *standstill) standingCycle() []network.Port {
	var standing []network.Port
	for at, of := range st.tr.net.observed.All() {
		list := of.intervals
		if len(list) == 0 || st.tr.has(at.Node) || list[len(list)-1].to < st.pauses.end {
			continue
		}
		standing = append(standing, at)
	}
	slices.SortFunc(standing, network.ComparePorts)
	var best []network.Port
	for _, start := range standing {
		if loop := st.loop(start, standing); loop != nil && (best == nil || len(loop) < len(best)) {
			best = loop
		}
	}
	return best
}

// loop is the shortest path from a port back to itself.
func (st *standstill) loop(start network.Port, standing []network.Port) []network.Port {
	before := map[network.Port]network.Port{}
	queue := []network.Port{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		h, ok := st.tr.net.Next(at)
		if !ok || !st.tr.net.Nodes[h.Peer].Switch {
			continue
		}
		for _, next := range standing {
			if next.Node != h.Peer || next.Port == h.PeerPort {
				continue // packets do not go back where they came from
			}
			if next == start {
				loop := []network.Port{at}
				for at != start {
					at = before[at]
					loop = append(loop, at)
				}
				slices.Reverse(loop)
				return loop
			}
			if _, seen := before[next]; !seen {
				before[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// behind returns the transfers that the ranks furthest behind did not begin, for
// records that show how many steps the algorithm has but not which it is: data flows
// from lower to higher steps, so the ranks furthest behind wait for no other.
func (st *standstill) behind(communicator int32) (out []stuck, steps int) {
	if int(communicator) >= len(st.t.run.Communicators) {
		return nil, 0
	}
	c := st.t.run.Communicators[communicator]
	last, ended := map[int]int{}, map[int]int64{}
	iteration := int32(0)
	for i := range st.t.steps {
		if r := &st.t.steps[i]; r.Communicator == communicator {
			iteration = max(iteration, r.Iteration)
		}
	}
	for i := range st.t.steps {
		if r := &st.t.steps[i]; r.Communicator == communicator && r.Iteration == iteration && int(r.Step) > last[int(r.Rank)] {
			last[int(r.Rank)], ended[int(r.Rank)] = int(r.Step), st.t.end[i]
		}
	}
	if len(last) == 0 {
		return nil, 0
	}
	least := c.Steps
	for _, rank := range c.Members {
		least = min(least, last[rank])
	}
	for _, rank := range c.Members {
		if last[rank] == least && least < c.Steps {
			out = append(out, stuck{rank: rank, peer: None, step: least + 1, since: max(ended[rank], st.t.first), communicator: communicator, steps: c.Steps})
		}
	}
	return out, c.Steps
}
