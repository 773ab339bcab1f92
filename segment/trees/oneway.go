package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
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
	leaves by[causeID, int]   // number that send into it and receive nothing
	ends   by[causeID, int]   // number of its sinks
	met    []causeID          // causes at one leaf
	known  by[deviceID, bool] // whether it receives is known
	gets   by[deviceID, bool] // it receives
}

// forget prepares for other readings.
func (o *oneWay) forget(devices int) {
	o.known, o.gets = scratch.Zeroed(o.known, devices), scratch.Slice(o.gets, devices)
}

// receives is t.receives, found once for each leaf.
func (o *oneWay) receives(t *trees, leaf deviceID) bool {
	if !o.known[leaf] {
		o.known[leaf], o.gets[leaf] = true, t.receives(leaf)
	}
	return o.gets[leaf]
}

// count counts, by cause, the leaves that only send into it, and its sinks.
func (o *oneWay) count(t *trees, s *sinks, c *causes, h *shares) {
	o.leaves, o.ends = scratch.Zeroed(o.leaves, len(c.thin)), scratch.Zeroed(o.ends, len(c.thin))
	for a := range s.all.len() {
		o.ends[c.causeOf(a)]++
	}
	for d := range t.seen.len() {
		if !t.waits.isLeaf(d) {
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
func (o *oneWay) listMet(t *trees, h *shares, leaf deviceID) {
	o.met = o.met[:0]
	for _, nodes := range [2][]nodeID{t.into.of(leaf), t.leaving.of(leaf)} {
		for _, i := range nodes {
			if own := h.main(i); own >= 0 && t.leafOf(i) == leaf && !slices.Contains(o.met, own) {
				o.met = append(o.met, own)
			}
		}
	}
}

// isTree reports whether so many leaves only send into a cause that it is not part of an exchange.
func (o *oneWay) isTree(cause causeID) bool {
	return o.leaves[cause] >= fewestOneWay*max(1, o.ends[cause])
}

// receives reports whether traffic to a leaf or its hosts waits, even if each link stalls too little to count.
func (t *nodes) receives(leaf deviceID) bool {
	w := t.waits
	isFromSwitch := func(l linkID) bool { return !w.fromHost(l) }
	return t.isAboveCalm(w.in.of(leaf), isFromSwitch) || t.isAboveCalm(w.out.of(leaf), w.toHost)
}

// isAboveCalm reports whether one of the links that count is stalled, or all together stall more than calm ones.
func (t *nodes) isAboveCalm(links []linkID, counts func(link linkID) bool) bool {
	n, excess := 0., 0.
	for _, l := range links {
		if t.values[l] == linkset.Missing || !counts(l) {
			continue
		}
		if t.node[l] >= 0 {
			return true
		}
		n++
		excess += min(float64(t.values[l]), mostSent) - t.noise.Mean
	}
	return excess > receiveSigmas*t.noise.Base*math.Sqrt(n)
}
