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

// lost is the share, 0 to 1, of what was added on the line of the last dimension on which a tree ends that the line's
// switches neither received nor can have sent themselves, as many senders or as switches that serve their inputs in turn,
// or received and did not send on. All that goes to the end
// leaves its line only there; of two neighbours on the line the trees are the same but for the link between them, and
// only at one of them the sums agree.
func (t *gridLinks) lost(end topology.DeviceID, senders int, h *held, p *pressure) float64 {
	k := len(t.grid.Dims)
	size, ways := t.grid.Dims[k-1], t.ways[k-1]
	stride := t.grid.Switches() / size
	at := int(t.numbers[end])
	z := at / stride
	added := func(l schema.LinkID) float64 {
		if l == schema.NoLink {
			return 0
		}
		return h.look(l, p).added
	}
	arrived := added(t.next[at*k+k-1]) + added(t.behind(at, k-1, stride))
	own, off := arrived/float64(max(1, senders)), 0.
	for x := range size {
		if x == z {
			continue
		}
		n := at + (x-z)*stride
		out, in := t.next[n*k+k-1], t.behind(n, k-1, stride)
		steps, farther := int(ways[x*size+z]), (x-1+size)%size
		if steps < 0 {
			out, in, farther = in, out, (x+1)%size
		}
		received := 0.
		if beyond := int(ways[farther*size+z]); beyond*steps > 0 && max(beyond, -beyond) > max(steps, -steps) {
			received = added(in)
		}
		side, inputs, width := 0., 1., 1
		count := func(amount float64) float64 {
			if amount > 0 {
				inputs++
			}
			return amount
		}
		for dim := range k - 1 {
			side += count(added(t.next[n*k+dim])) + count(added(t.behind(n, dim, width)))
			width *= t.grid.Dims[dim]
		}
		sent := added(out)
		net := sent - count(received)
		off += max(0, net-side-max(own, sent/inputs)) + max(0, -net)
	}
	if arrived == 0 {
		return 0
	}
	return min(1, off/arrived)
}

// behind is the link that leads to a switch along a dimension in + direction; NoLink at the edge of a mesh.
func (t *gridLinks) behind(n, dim, stride int) schema.LinkID {
	k, size := len(t.grid.Dims), t.grid.Dims[dim]
	before := n - stride
	if t.coords[n*k+dim] == 0 {
		before += size * stride
	}
	return t.next[before*k+dim]
}

// vanished is the share, 0 to 1, of what was added on a tree that reaches switches before its end and does not go on
// to the end; with onLine of what reaches those on the last line, where ends that lie beside each other differ. However
// switches divide what they pass on between their inputs, of all ends at which a tree may end it is little only at that
// which takes it.
func (t *gridLinks) vanished(senders []topology.DeviceID, end topology.DeviceID, onLine bool, h *held, p *pressure) float64 {
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
		if !onLine || t.inLine(d, end) {
			lost += max(0, h.sent[d])
		}
		h.sent[d] = 0
	}
	if lost == 0 {
		return 0
	}
	return lost / (lost + arrived)
}

// inLine reports whether two switches lie on one line of the last dimension.
func (t *gridLinks) inLine(a, b topology.DeviceID) bool {
	stride := t.grid.Switches() / t.grid.Dims[len(t.grid.Dims)-1]
	return int(t.numbers[a])%stride == int(t.numbers[b])%stride
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
