package diagnose

import (
	"math"

	"github.com/giverny/giverny/topology"
)

// sharesFit is the cosine of what was added to links with what the tree that was added carries if each switch serves its
// inputs in turn: with finite buffers all of them always have packets for a switch that does not take what arrives, so
// that each gets the same part of what goes on, however many routes come over it.
func (t *gridLinks) sharesFit(senders []topology.DeviceID, end topology.DeviceID, h *held, p *pressure) float64 {
	goal := t.graph.Device(end).Coord
	for _, l := range h.touched {
		from, to := t.leading(l, goal)
		h.inputs[from], h.inputs[to], h.rates[from] = 0, 0, 0
	}
	for _, l := range h.touched {
		_, to := t.leading(l, goal)
		h.inputs[to]++
	}
	for _, d := range senders {
		if d != end {
			h.inputs[d]++
		}
	}
	h.rates[end] = 1
	dot, squares, loads := 0., h.squares[addedTo], 0.
	for i := len(h.touched) - 1; i >= 0; i-- { // from the end on
		l := h.touched[i]
		from, to := t.leading(l, goal)
		rate := h.rates[to] / h.inputs[to]
		h.rates[from] = rate
		at := h.look(l, p)
		if h.inside[l] != h.round {
			squares += at.added * at.added
		}
		dot += rate * at.added
		loads += rate * rate
	}
	if squares*loads == 0 {
		return 0
	}
	return dot / math.Sqrt(squares*loads)
}
