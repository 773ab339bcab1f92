package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

const (
	// For each end of a tree, at least so many leaves send into it and receive nothing.
	fewestOneWay = 4
	// In deviations of the noise: by how much the links to a leaf, or those to its hosts, are above the calm mean if it receives,
	// on average of all. Of one link mostSent counts at most.
	receiveSigmas = 5
)

// meeting is a switch, a leaf that sends into a cause or one of its ends.
type meeting struct{ device, cause int32 }

// oneWay tells trees from parts of an exchange by their sources: whoever exchanges receives, too.
type oneWay struct {
	receives []answer  // by device
	leaves   []int     // by cause: that send into it and receive nothing
	ends     []int     // by cause: switches at which its sinks are
	met      []meeting // of leaves or ends with causes
}

// count counts by cause the leaves that only send into it, and its ends.
func (o *oneWay) count(t *trees, s *sinks, c *causes, h *shares) {
	o.receives = scratch.Slice(o.receives, len(t.seen))
	for d := range o.receives {
		o.receives[d] = unknown
	}
	o.met = o.met[:0]
	for i := range int32(len(t.links)) {
		if leaf, own := t.leafOf(i), h.main(i); leaf >= 0 && own >= 0 && !o.isReceiver(t, s, leaf) {
			o.met = append(o.met, meeting{leaf, own})
		}
	}
	o.leaves = o.countMet(o.leaves, len(c.weak))
	o.met = o.met[:0]
	for a := range int32(len(s.all)) {
		o.met = append(o.met, meeting{s.all[a].device, c.sets.Find(a)})
	}
	o.ends = o.countMet(o.ends, len(c.weak))
}

// countMet counts by cause the devices that it meets.
func (o *oneWay) countMet(counts []int, causes int) []int {
	counts = scratch.Slice(counts, causes)
	clear(counts)
	slices.SortFunc(o.met, compareMeetings)
	for _, m := range slices.Compact(o.met) {
		counts[m.cause]++
	}
	return counts
}

func compareMeetings(a, b meeting) int {
	return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.cause, b.cause))
}

// isTree reports whether so many leaves only send into a cause that it is no part of an exchange.
func (o *oneWay) isTree(cause int32) bool {
	return o.leaves[cause] >= fewestOneWay*max(1, o.ends[cause])
}

// isReceiver reports whether something waits to come to a leaf or to its hosts, also where each link stalls too little to count.
func (o *oneWay) isReceiver(t *trees, s *sinks, leaf int32) bool {
	if o.receives[leaf] == unknown {
		o.receives[leaf] = no
		w := t.waits
		isFromSwitch := func(l int32) bool { return !w.fromHost(l) }
		if s.at[leaf] >= 0 || t.isAboveCalm(w.in.of(leaf), isFromSwitch) || t.isAboveCalm(w.out.of(leaf), w.toHost) {
			o.receives[leaf] = yes
		}
	}
	return o.receives[leaf] == yes
}

// isAboveCalm reports whether one of those links that count stalls, or all together stall more than calm ones.
func (t *trees) isAboveCalm(links []int32, counts func(link int32) bool) bool {
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
