package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostLoss is the most that it counts against the end of a tree that what was added there does not reach it, halfLoss
// the share that is lost for half of that: other traffic changes on the same links, so that it is a matter of more or
// less rather than of a bound.
const mostLoss, halfLoss = .3, .1

// against is what a share that is lost counts against the end of a tree.
func against(share float64) float64 { return mostLoss * share / (share + halfLoss) }

// vanished is the share, 0 to 1, of what was added on a tree that reaches switches before its end and does not go on
// to the end; with onLine of what reaches those on the last line, where ends that lie beside each other differ. However
// switches divide what they pass on between their inputs, of all ends at which a tree may end it is little only at that
// which takes it.
func (t *gridLinks) vanished(senders []topology.DeviceID, end topology.DeviceID, h *held, p *pressure) float64 {
	t.gather(senders, end, h)
	goal := t.graph.Device(end).Coord
	h.passed, h.blind = h.passed[:0], h.blind[:0]
	h.sent[end] = 0
	for _, l := range h.touched {
		from, to := t.graph.Ends(l)
		h.sent[from], h.sent[to] = 0, 0
		h.passed = append(h.passed, from, to)
	}
	for _, l := range h.touched {
		from, to := t.leading(l, goal)
		if p.useOf(l) < 0 { // what leaves there is not known
			h.blind = append(h.blind, from)
		}
		added := h.look(l, p).added
		h.sent[from] -= added
		h.sent[to] += added
	}
	h.forget()
	arrived, lost := max(0, h.sent[end]), 0.
	h.sent[end] = 0
	for _, d := range h.blind {
		h.sent[d] = 0
	}
	for _, d := range h.passed {
		lost += max(0, h.sent[d])
		h.sent[d] = 0
	}
	if lost == 0 {
		return 0
	}
	return lost / (lost + arrived)
}

// leading are the ends of a link, that from which routes to a switch take it first.
func (t *gridLinks) leading(l schema.LinkID, goal []int) (from, to topology.DeviceID) {
	from, to = t.graph.Ends(l)
	k, dim := len(t.grid.Dims), int(t.keys[l].dim)
	size := t.grid.Dims[dim]
	far, _ := t.way(int(t.coords[int(t.numbers[from])*k+dim]), goal[dim], size)
	near, _ := t.way(int(t.coords[int(t.numbers[to])*k+dim]), goal[dim], size)
	if far < near {
		return to, from
	}
	return from, to
}
