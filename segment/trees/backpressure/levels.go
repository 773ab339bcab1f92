package backpressure

import (
	"slices"

	"github.com/giverny/giverny/segment/trees/index"
)

// IsTwoLevel reports whether leaves only lead up to spines and switches above the spines can be ignored: there are
// none, or one spine leads to all leaves, so that no traffic between these goes higher.
func (w *Graph) IsTwoLevel() bool {
	isHigher := false
	for l := range w.From {
		a, b := w.Level[w.From[l]], w.Level[w.To[l]]
		if !w.IsSwitch[w.From[l]] || !w.IsSwitch[w.To[l]] || min(a, b) == 1 && max(a, b) == 2 {
			continue
		}
		if min(a, b) <= 1 {
			return false
		}
		isHigher = true
	}
	return !isHigher || w.hasSpineOfAll()
}

// hasSpineOfAll reports whether one switch has links down to all leaves.
func (w *Graph) hasSpineOfAll() bool {
	leaves := 0
	for d := range w.Level.Len() {
		if w.IsLeaf(d) {
			leaves++
		}
	}
	below := make([]index.Device, 0, leaves)
	for d := range w.Level.Len() {
		below = below[:0]
		for _, l := range w.Out.Of(d) {
			if w.IsDown(l) && w.IsLeaf(w.To[l]) {
				below = append(below, w.To[l])
			}
		}
		slices.Sort(below)
		if leaves > 0 && len(slices.Compact(below)) == leaves {
			return true
		}
	}
	return false
}
