package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

const (
	// A link hotter than all that it could wait for, by unexplainedFactor and unexplainedSigmas deviations, waits for
	// a port that is full but not stalled, if unexplainedLinks into its switch do so.
	unexplainedFactor = 1.8
	unexplainedSigmas = 6
	unexplainedLinks  = 3
	// A link is clearly above another by at least clearFactor and clearSigmas deviations.
	clearFactor, clearSigmas = 1.25, 4
)

// findLinkSinks marks the ports to hosts at which back pressure may begin apart from what else waits at their switch
// (link sinks).
func (t *trees) findLinkSinks() {
	t.isLinkSink = scratch.Zeroed(t.isLinkSink, len(t.links))
	for _, d := range t.entered {
		t.findLinkSinksAt(d)
	}
}

// findLinkSinksAt marks those of a switch: if many ports stall, those clearly above most; the only one, if all that waits
// may go on elsewhere; and two that are a pair or twins.
func (t *trees) findLinkSinksAt(d deviceID) {
	t.sample = t.sample[:0]
	for _, i := range t.leaving.of(d) {
		if t.toHost(i) {
			t.sample = append(t.sample, t.stall[i])
		}
	}
	if len(t.sample) == 0 {
		return
	}
	slices.Sort(t.sample)
	usual := t.sample[(len(t.sample)-1)/2]
	if len(t.sample) < mostRoots {
		if !t.isPassed(d) && !t.arePair(d) && !t.areTwins(d) {
			return
		}
		usual = 0
	}
	least := usual
	if usual > 0 {
		least *= math.Exp(clearSigmas * spreadOf(t.sample, usual))
	}
	for _, i := range t.leaving.of(d) {
		if t.toHost(i) {
			t.isLinkSink[i] = t.isClearlyAbove(t.stall[i], usual) && t.stall[i] >= least
		}
	}
}

// isPassed reports whether only one port to a host stalls at a switch, while all stalled links into the switch come
// up and may wait for a link to another switch: nothing shows that they wait for the port, not for what a passing
// tree waits for.
func (t *waiting) isPassed(d deviceID) bool {
	into := t.into.of(d)
	if len(t.sample) != 1 || len(into) == 0 || !slices.ContainsFunc(t.leaving.of(d), func(j nodeID) bool { return !t.toHost(j) }) {
		return false
	}
	return !slices.ContainsFunc(into, func(i nodeID) bool {
		w := t.waits
		return w.level[t.from[i]] >= w.level[d] || !slices.ContainsFunc(t.mayWaitFor(i), func(j nodeID) bool { return !t.toHost(j) })
	})
}

// pairSigmas is by how many deviations two ports of a switch must differ to be two roots: at one level, nothing shows
// which of them a link waits for.
const pairSigmas = 2

// arePair reports whether two trees begin at a switch: the two stalled ports to hosts both stall clearly, differ, and
// most links that wait stall no more than the hotter one.
func (t *nodes) arePair(d deviceID) bool {
	if len(t.sample) != 2 || t.sendingPorts(d) == 2 || !t.isClearlyAbove(t.sample[0], 0) || t.sample[1]-t.sample[0] < pairSigmas*t.noise.sigma(t.sample[1]) {
		return false
	}
	waiting, hotter, most := 0, 0, t.sample[1]+clearSigmas*t.noise.sigma(t.sample[1])
	for _, i := range t.into.of(d) {
		if t.stall[i] > most {
			hotter++
		} else {
			waiting++
		}
	}
	return waiting > hotter
}

// sendingPorts counts the stalled ports of a switch to hosts that themselves send into the congestion.
func (t *nodes) sendingPorts(d deviceID) (n int) {
	for _, i := range t.leaving.of(d) {
		if t.toHost(i) && t.sendsBack(i) {
			n++
		}
	}
	return n
}

// sendsBack reports whether the host that a port leads to waits to send into the same switch.
func (t *nodes) sendsBack(i nodeID) bool {
	return slices.ContainsFunc(t.leaving.of(t.to[i]), func(back nodeID) bool { return t.to[back] == t.from[i] })
}

// findSinks marks the nodes at which back pressure begins: into a host, with no stalled link after them, or, with
// others at their switch, far hotter than any link after them.
func (t *trees) findSinks() {
	w := t.waits
	t.sink, t.port = scratch.Slice(t.sink, len(t.links)), scratch.Slice(t.port, len(t.links))
	for i := range t.links.len() {
		l := t.links[i]
		t.sink[i] = -1
		t.port[i] = w.toHost(l)
		switch {
		case t.isLinkSink[i]:
			t.sink[i] = t.placeOf(l)
		case t.port[i]:
			t.sink[i] = placeAt(w.from[l])
		case len(t.mayWaitFor(i)) == 0:
			t.sink[i] = placeAt(w.to[l])
		}
	}
	t.markExchanging()
	for _, d := range t.entered {
		unexplained := 0
		for _, i := range t.into.of(d) {
			if t.waitsForFull(i) {
				unexplained++
			}
		}
		if unexplained < unexplainedLinks {
			continue
		}
		for _, i := range t.into.of(d) {
			if !t.port[i] && t.waitsForFull(i) {
				t.sink[i] = placeAt(d)
			}
		}
	}
}

// isClearlyAbove reports whether a stall is above another by the factor and the deviations that make a root.
func (t *nodes) isClearlyAbove(stall, other float64) bool {
	return stall >= clearFactor*other && stall-other >= clearSigmas*t.noise.sigma(stall)
}

// waitsForFull reports whether a link seems to wait for a port that is full but not stalled, as no other explains it. The
// link of a host may stall more than the uplinks that it waits for, since they are shared with other traffic: that is no
// saddle.
func (t *waiting) waitsForFull(i nodeID) bool {
	return t.isUnexplained(i) || !t.fromHost(i) && t.isAcrossSaddle(i, t.hottestAfter(i))
}

// isUnexplained reports whether a node stalls far more than all that it may wait for, if it may wait for any.
func (t *waiting) isUnexplained(i nodeID) bool {
	if len(t.mayWaitFor(i)) == 0 {
		return false
	}
	best := t.hottest(i)
	return t.stall[i] > unexplainedFactor*best && t.stall[i]-best > unexplainedSigmas*t.noise.sigma(t.stall[i])
}
