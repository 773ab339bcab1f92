package trees

import "github.com/giverny/giverny/segment/linkset"

// zeros are readings of zero that cannot be right.
type zeros struct {
	values []float32 // a copy of the readings without them; empty if there are none
	into   map[int32]cableCount
}

// cableCount counts cables into a group of a dragonfly.
type cableCount struct{ measured, stalled int }

// distrustZeros treats zeros that cannot be right as missing: a link down or within a dragonfly's group, the only way to its
// switch, reads zero though links wait for it and most links into the same switch from the same level stall.
func (t *trees) distrustZeros() {
	t.zeros.values = t.zeros.values[:0]
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
	if len(t.zeros.values) > 0 {
		t.values = t.zeros.values
	}
}

func (t *trees) distrust(l int32) {
	if len(t.zeros.values) == 0 {
		t.zeros.values = append(t.zeros.values, t.values...)
	}
	t.zeros.values[l] = linkset.Missing
}

// distrustCables does the same for cables between groups: several links wait to enter one, and most into the same group
// stall, so that a tree reaches nearly all groups.
func (t *trees) distrustCables() {
	w := t.waits
	if len(w.cables) == 0 || t.noise.zeros > mostZeros {
		return
	}
	clear(t.zeros.into)
	for _, l := range w.cables {
		if t.values[l] != linkset.Missing {
			n := t.zeros.into[w.group[w.to[l]]]
			n.measured++
			if t.node[l] >= 0 {
				n.stalled++
			}
			t.zeros.into[w.group[w.to[l]]] = n
		}
	}
	for _, l := range w.cables {
		if n := t.zeros.into[w.group[w.to[l]]]; t.values[l] == 0 && t.stalledInto(w.from[l]) >= fewestPast && n.stalled >= minFeeders && 2*n.stalled > n.measured {
			t.distrust(l)
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
