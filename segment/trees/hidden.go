package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// hidden finds what waits for trees at leaves of a layer that stall some links less than the layer does, so that the rest
// lacks these: the links down to such a leaf, and the uplinks of others.
type hidden struct {
	waiting by[deviceID, int32] // by switch: links up to it of the rest, or isShown
	stalls  []float64           // of those that wait for nothing
	isAny   bool                // some switch isShown
}

// isShown marks a spine from which a link down stalls in the rest: links up to it may wait for that.
const isShown = int32(-1)

// showHidden gives such links back to the rest, with the stall of what waits for them, or they for: they stall no less, or
// no more.
func (y *layers) showHidden(w *waits, values readings, hot float64) {
	y.hidden.find(w, y.rest, hot)
	for k := range y.leaves {
		y.showUplinks(w, values, &y.leaves[k], hot)
	}
	if y.hidden.find(w, y.rest, hot); len(y.hidden.stalls) < minFeeders {
		return
	}
	level := medianOf(y.hidden.stalls)
	for k := range y.leaves {
		x := &y.leaves[k]
		if !x.mayHide(max(hot, portShare*level)) || !y.hidden.isBehindMost(w, x.device) {
			continue
		}
		for _, l := range w.in.of(x.device) {
			if w.isDown(l) && float64(values[l]) >= hot && float64(y.rest[l]) < hot {
				y.rest[l] = min(values[l], float32(x.port))
			}
		}
	}
}

// mayHide reports whether a tree may begin at a leaf of a layer: few of its ports stall, one of them at least so much.
func (x *leafLevels) mayHide(least float64) bool {
	return x.layers[0] != noLayer && x.ports <= minFeeders && x.port >= least
}

// showUplinks gives the rest the uplinks of a leaf whose hosts wait, but not for its layers or for one another. They lead to
// the spines from which links down stall, or all, if there are none and a tree may hide them.
func (y *layers) showUplinks(w *waits, values readings, x *leafLevels, hot float64) {
	isHosts := func(c layerID) bool { return c != noLayer && y.all[c].hosts > 0 }
	isLeft := func(l linkID) bool { return w.isUp(l) && float64(y.rest[l]) >= hot }
	if x.layers[0] == noLayer || x.ports > 0 || slices.ContainsFunc(x.layers[:], isHosts) || slices.ContainsFunc(w.out.of(x.device), isLeft) {
		return
	}
	y.sample = y.sample[:0]
	for _, l := range w.in.of(x.device) {
		if w.fromHost(l) && float64(y.rest[l]) >= hot {
			y.sample = append(y.sample, float64(y.rest[l]))
		}
	}
	if len(y.sample) < minFeeders {
		return
	}
	level := medianOf(y.sample)
	if !y.hidden.isAny && !slices.ContainsFunc(y.leaves, func(z leafLevels) bool { return z.mayHide(max(hot, portShare*level)) }) {
		return
	}
	for _, l := range w.out.of(x.device) {
		if w.isUp(l) && float64(values[l]) >= hot && (!y.hidden.isAny || y.hidden.waiting[w.to[l]] == isShown) {
			y.rest[l] = min(values[l], float32(level))
		}
	}
}

// find finds the links up that wait for nothing in the rest.
func (h *hidden) find(w *waits, rest readings, hot float64) {
	h.waiting, h.stalls, h.isAny = scratch.Zeroed(h.waiting, len(w.level)), h.stalls[:0], false
	for at, v := range rest {
		switch l := linkID(at); {
		case float64(v) < hot || w.fromHost(l) || w.toHost(l):
		case w.isDown(l):
			h.waiting[w.from[l]], h.isAny = isShown, true
		case h.waiting[w.to[l]] != isShown:
			h.waiting[w.to[l]]++
		}
	}
	for at, v := range rest {
		if l := linkID(at); float64(v) >= hot && w.isUp(l) && !w.fromHost(l) && h.waiting[w.to[l]] != isShown {
			h.stalls = append(h.stalls, float64(v))
		}
	}
}

// isBehindMost reports whether links wait for nothing at most switches from which links lead down to a leaf.
func (h *hidden) isBehindMost(w *waits, leaf deviceID) bool {
	all, n := 0, 0
	for _, l := range w.in.of(leaf) {
		if w.isDown(l) {
			all++
			if h.waiting[w.from[l]] > 0 {
				n++
			}
		}
	}
	return 2*n > all
}
