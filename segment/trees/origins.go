package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// A link hotter than all that it could wait for, by unexplainedFactor and unexplainedSigmas deviations, waits for
	// a port that is full but not stalled, if unexplainedLinks into its switch do so.
	unexplainedFactor = 1.8
	unexplainedSigmas = 6
	unexplainedLinks  = 3
)

// findLinkSinks marks the ports to hosts at which back pressure may begin apart from what else waits at their switch
// (link sinks).
func (t *trees) findLinkSinks() {
	t.isLinkSink = scratch.Zeroed(t.isLinkSink, len(t.Links))
	for _, d := range t.Entered {
		t.findLinkSinksAt(d)
	}
}

// findLinkSinksAt marks those of a switch: if many ports stall, those clearly above most; the only one, if all that waits
// may go on elsewhere; and two that are a pair or twins.
func (t *trees) findLinkSinksAt(d index.Device) {
	t.sample = t.sample[:0]
	for _, i := range t.Leaving.Of(d) {
		if t.ToHost(i) {
			t.sample = append(t.sample, t.Stall[i])
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
		least *= math.Exp(backpressure.ClearSigmas * median.Spread(t.sample, usual))
	}
	for _, i := range t.Leaving.Of(d) {
		if t.ToHost(i) {
			t.isLinkSink[i] = t.IsClearlyAbove(t.Stall[i], usual) && t.Stall[i] >= least
		}
	}
}

// isPassed reports whether only one port to a host stalls at a switch, while all stalled links into the switch come
// up and may wait for a link to another switch: nothing shows that they wait for the port, not for what a passing
// tree waits for.
func (t *trees) isPassed(d index.Device) bool {
	into := t.Into.Of(d)
	if len(t.sample) != 1 || len(into) == 0 || !slices.ContainsFunc(t.Leaving.Of(d), func(j index.Node) bool { return !t.ToHost(j) }) {
		return false
	}
	return !slices.ContainsFunc(into, func(i index.Node) bool {
		w := t.Graph
		return w.Level[t.From[i]] >= w.Level[d] || !slices.ContainsFunc(t.MayWaitFor(i), func(j index.Node) bool { return !t.ToHost(j) })
	})
}

// pairSigmas is by how many deviations two ports of a switch must differ to be two roots: at one level, nothing shows
// which of them a link waits for.
const pairSigmas = 2

// arePair reports whether two trees begin at a switch: the two stalled ports to hosts both stall clearly, differ, and
// most links that wait stall no more than the hotter one.
func (t *trees) arePair(d index.Device) bool {
	if len(t.sample) != 2 || t.sendingPorts(d) == 2 || !t.IsClearlyAbove(t.sample[0], 0) || t.sample[1]-t.sample[0] < pairSigmas*t.Noise.Sigma(t.sample[1]) {
		return false
	}
	waiting, hotter, most := 0, 0, t.sample[1]+backpressure.ClearSigmas*t.Noise.Sigma(t.sample[1])
	for _, i := range t.Into.Of(d) {
		if t.Stall[i] > most {
			hotter++
		} else {
			waiting++
		}
	}
	return waiting > hotter
}

// sendingPorts counts the stalled ports of a switch to hosts that themselves send into the congestion.
func (t *trees) sendingPorts(d index.Device) (n int) {
	for _, i := range t.Leaving.Of(d) {
		if t.ToHost(i) && t.sendsBack(i) {
			n++
		}
	}
	return n
}

// sendsBack reports whether the host that a port leads to waits to send into the same switch.
func (t *trees) sendsBack(i index.Node) bool {
	return slices.ContainsFunc(t.Leaving.Of(t.To[i]), func(back index.Node) bool { return t.To[back] == t.From[i] })
}

// findSinks marks the nodes at which back pressure begins: into a host, with no stalled link after them, or, with
// others at their switch, far hotter than any link after them.
func (t *trees) findSinks() {
	w := t.Graph
	t.sink, t.port = scratch.Slice(t.sink, len(t.Links)), scratch.Slice(t.port, len(t.Links))
	for i := range t.Links.Len() {
		l := t.Links[i]
		t.sink[i] = -1
		t.port[i] = w.ToHost(l)
		switch {
		case t.isLinkSink[i]:
			t.sink[i] = t.placeOf(l)
		case t.port[i]:
			t.sink[i] = placeAt(w.From[l])
		case len(t.MayWaitFor(i)) == 0:
			t.sink[i] = placeAt(w.To[l])
		}
	}
	t.markExchanging()
	for _, d := range t.Entered {
		unexplained := 0
		for _, i := range t.Into.Of(d) {
			if t.waitsForFull(i) {
				unexplained++
			}
		}
		if unexplained < unexplainedLinks {
			continue
		}
		for _, i := range t.Into.Of(d) {
			if !t.port[i] && t.waitsForFull(i) {
				t.sink[i] = placeAt(d)
			}
		}
	}
}

// waitsForFull reports whether a link seems to wait for a port that is full but not stalled, as no other explains it. The
// link of a host may stall more than the uplinks that it waits for, since they are shared with other traffic: that is no
// saddle.
func (t *trees) waitsForFull(i index.Node) bool {
	return t.isUnexplained(i) || !t.FromHost(i) && t.isAcrossSaddle(i, t.HottestAfter(i))
}

// isUnexplained reports whether a node stalls far more than all that it may wait for, if it may wait for any.
func (t *trees) isUnexplained(i index.Node) bool {
	if len(t.MayWaitFor(i)) == 0 {
		return false
	}
	best := t.Hottest(i)
	return t.Stall[i] > unexplainedFactor*best && t.Stall[i]-best > unexplainedSigmas*t.Noise.Sigma(t.Stall[i])
}
