package trees

import "github.com/giverny/giverny/segment/linkset"

// dropFalseZeros treats zeros that cannot be right as missing: a link down or within a dragonfly's group, the only way to its
// switch, reads zero though links wait for it and most links into the same switch from the same level stall.
func (t *nodes) dropFalseZeros() {
	t.trusted = t.trusted[:0]
	for _, d := range t.entered {
		if !t.waits.isSwitch[d] || t.feeders[d] < minFeeders {
			continue
		}
		for _, l := range t.waits.in.of(d) {
			if t.values[l] != 0 || !t.isOnlyWay(l) || t.stalledInto(t.waits.from[l]) == 0 || !t.isOddlyCalm(l) {
				continue
			}
			t.distrust(l)
		}
	}
	t.distrustCables()
	if len(t.trusted) > 0 {
		t.values = t.trusted
	}
}

// distrust marks a reading as missing in a copy of the readings, which dropFalseZeros uses at its end.
func (t *nodes) distrust(l linkID) {
	if len(t.trusted) == 0 {
		t.trusted = append(t.trusted, t.values...)
	}
	t.trusted[l] = linkset.Missing
}

// distrustCables does the same for cables between groups of a dragonfly that read zero though several links wait to enter
// them, if most cables into the same group stall: a tree there reaches most groups, so it reaches these, too.
func (t *nodes) distrustCables() {
	w := t.waits
	if t.noise.zeros > mostZeros {
		return
	}
	for first, end := 0, 0; first < len(w.cables); first = end {
		group, measured, stalled := w.group[w.to[w.cables[first]]], 0, 0
		for end = first; end < len(w.cables) && w.group[w.to[w.cables[end]]] == group; end++ {
			if t.values[w.cables[end]] != linkset.Missing {
				measured++
			}
			if t.node[w.cables[end]] >= 0 {
				stalled++
			}
		}
		if stalled < minFeeders || 2*stalled <= measured {
			continue
		}
		for _, l := range w.cables[first:end] {
			if t.values[l] == 0 && t.stalledInto(w.from[l]) >= fewestBefore {
				t.distrust(l)
			}
		}
	}
}

// isOddlyCalm reports whether a link is calm while most links into its switch from the same level are not.
func (t *nodes) isOddlyCalm(link linkID) bool {
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
func (t *nodes) isOnlyWay(link linkID) bool {
	return t.waits.isDown(link) || t.waits.isWithinGroup(link) && t.mayBeUnread(link)
}
