package trees

import "github.com/giverny/giverny/segment/linkset"

// distrustZeros treats zeros that cannot be right as missing: a link down or within a dragonfly's group, the only way to its
// switch, reads zero though links wait for it and most links into the same switch from the same level stall.
func (t *trees) distrustZeros() {
	isAny := false
	for _, d := range t.entered {
		if !t.waits.isSwitch[d] || t.feeders[d] < minFeeders {
			continue
		}
		for _, l := range t.waits.in.of(d) {
			if t.values[l] != 0 || !t.isOnlyWay(l) || t.stalledInto(t.waits.from[l]) == 0 || !t.isOddlyCalm(l) {
				continue
			}
			if !isAny {
				t.trusted = append(t.trusted[:0], t.values...)
				t.values, isAny = t.trusted, true
			}
			t.values[l] = linkset.Missing
		}
	}
}

// isOddlyCalm reports whether a link is calm while most links into its switch from the same level are not.
func (t *trees) isOddlyCalm(link int32) bool {
	w, stalled, measured := t.waits, 0, 0
	for _, l := range w.in.of(w.to[link]) {
		if l == link || w.fromHost(l) || t.values[l] == linkset.Missing || w.level[w.from[l]] != w.level[w.from[link]] {
			continue
		}
		measured++
		if t.node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= minFeeders && 2*stalled > measured
}

// isOnlyWay reports whether a link is the only way between its switches, of which a zero may be wrong: it is down or, if few
// readings are zero, within a dragonfly's group, whose links are often idle.
func (t *trees) isOnlyWay(link int32) bool {
	return t.waits.isDown(link) || t.waits.isWithinGroup(link) && t.mayBeUnread(link)
}
