package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// Per sink of a tree, at least so many leaves send into it and receive nothing.
	fewestOneWay = 4
	// A leaf receives if the links to it, or to its hosts, are together above the calm mean by receiveSigmas
	// deviations of the noise. One link counts at most mostSent.
	receiveSigmas = 5
)

// oneWay distinguishes trees from parts of an exchange by their sources: hosts that exchange receive, too.
type oneWay struct {
	leaves index.By[causeID, int]       // number that send into it and receive nothing
	sinks  index.By[causeID, int]       // number of its sinks
	met    []causeID                    // causes at one leaf
	known  index.By[index.Device, bool] // whether it receives is known
	gets   index.By[index.Device, bool] // it receives
}

// forget prepares for other readings.
func (o *oneWay) forget(devices int) {
	o.known, o.gets = scratch.Zeroed(o.known, devices), scratch.Slice(o.gets, devices)
}

// receives is t.receives, found once for each leaf.
func (o *oneWay) receives(t *trees, leaf index.Device) bool {
	if !o.known[leaf] {
		o.known[leaf], o.gets[leaf] = true, t.receives(leaf)
	}
	return o.gets[leaf]
}

// count counts, by cause, the leaves that only send into it, and its sinks.
func (o *oneWay) count(t *trees, s *sinks, c *causes, h *shares) {
	o.leaves, o.sinks = scratch.Zeroed(o.leaves, len(c.thin)), scratch.Zeroed(o.sinks, len(c.thin))
	for a := range s.all.Len() {
		o.sinks[c.causeOf(a)]++
	}
	for d := range t.Seen.Len() {
		if !t.Graph.IsLeaf(d) {
			continue
		}
		if s.at(d) >= 0 {
			continue
		}
		if o.listMet(t, h, d); len(o.met) == 0 || o.receives(t, d) {
			continue
		}
		for _, cause := range o.met {
			o.leaves[cause]++
		}
	}
}

// listMet lists the causes that a leaf or its hosts send into.
func (o *oneWay) listMet(t *trees, h *shares, leaf index.Device) {
	o.met = o.met[:0]
	for _, nodes := range [2][]index.Node{t.Into.Of(leaf), t.Leaving.Of(leaf)} {
		for _, i := range nodes {
			if own := h.main(i); own >= 0 && t.LeafOf(i) == leaf && !slices.Contains(o.met, own) {
				o.met = append(o.met, own)
			}
		}
	}
}

// isTree reports whether so many leaves only send into a cause that it is not part of an exchange.
func (o *oneWay) isTree(cause causeID) bool {
	return o.leaves[cause] >= fewestOneWay*max(1, o.sinks[cause])
}

// receives reports whether traffic to a leaf or its hosts waits, even if each link stalls too little to count.
func (t *trees) receives(leaf index.Device) bool {
	w := t.Graph
	isFromSwitch := func(l index.Link) bool { return !w.FromHost(l) }
	return t.isAboveCalm(w.In.Of(leaf), isFromSwitch) || t.isAboveCalm(w.Out.Of(leaf), w.ToHost)
}

// isAboveCalm reports whether one of the links that count is stalled, or all together stall more than calm ones.
func (t *trees) isAboveCalm(links []index.Link, counts func(link index.Link) bool) bool {
	n, excess := 0., 0.
	for _, l := range links {
		if t.Values[l] == linkset.Missing || !counts(l) {
			continue
		}
		if t.Node[l] >= 0 {
			return true
		}
		n++
		excess += min(float64(t.Values[l]), mostSent) - t.Noise.Mean
	}
	return excess > receiveSigmas*t.Noise.Base*math.Sqrt(n)
}
