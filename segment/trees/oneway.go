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
	leaves by[causeID, int] // number that send into it and receive nothing
	ends   by[causeID, int] // number of its sinks
	met    []causeID        // causes at one leaf
	sent   []sending
	both   by[causeID, int]   // number of its sinks at leaves that show an exchange, as they send, too
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

// sending says that a leaf at which a cause ends sends into another cause.
type sending struct {
	leaf         deviceID
	cause, other causeID
	isMost       bool // most hosts of the leaf wait for other causes
}

// count counts, by cause, the leaves that only send into it, and its sinks.
func (o *oneWay) count(t *trees, s *sinks, c *causes, h *shares) {
	o.leaves, o.ends = scratch.Slice(o.leaves, len(c.thin)), scratch.Slice(o.ends, len(c.thin))
	clear(o.leaves)
	clear(o.ends)
	o.sent = o.sent[:0]
	for a := range s.all.len() {
		o.ends[c.causeOf(a)]++
	}
	for d := range t.seen.len() {
		if !t.waits.isLeaf(d) {
			continue
		}
		o.listMet(t, h, d)
		if a := s.at(d); a >= 0 {
			o.listSent(d, c.causeOf(a), c.partnerOf(t, h, &s.all[a], c.causeOf(a)) >= 0)
			continue
		}
		if len(o.met) == 0 || o.receives(t, d) {
			continue
		}
		for _, cause := range o.met {
			o.leaves[cause]++
		}
	}
	o.countBoth()
}

// listSent lists the other causes that a leaf at which a cause ends sends into.
func (o *oneWay) listSent(leaf deviceID, own causeID, isMost bool) {
	for _, other := range o.met {
		if other != own {
			o.sent = append(o.sent, sending{leaf, own, other, isMost})
		}
	}
}

// countBoth counts, by cause, the leaves at which it ends of which most hosts send into others, or that send into such a
// cause that in turn sends into it. The receiver of a tree need not send, nor do many of its neighbours.
func (o *oneWay) countBoth() {
	o.both = scratch.Slice(o.both, len(o.leaves))
	clear(o.both)
	last := deviceID(-1)
	for _, p := range o.sent {
		answers := func(q sending) bool { return q.isMost && q.cause == p.other && q.other == p.cause }
		if p.leaf != last && (p.isMost || slices.ContainsFunc(o.sent, answers)) {
			o.both[p.cause]++
			last = p.leaf
		}
	}
}

// exchanges reports whether a cause's leaves send, too, at each of its ends.
func (o *oneWay) exchanges(cause causeID) bool { return o.both[cause] >= max(1, o.ends[cause]) }

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
