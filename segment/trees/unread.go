package trees

import "github.com/giverny/giverny/segment/linkset"

const (
	// At least so many links wait at a switch with no stalled link out of it: a single one may be a lone hot link.
	fewestBefore = 2
	// Bounds on the stall behind an unread link, as multiples of the median of those that wait for it: stall falls
	// from hop to hop.
	leastBehind, mostBehind = 1, 3
	// Share of calm links that read zero, above which a zero says nothing: with noise, few do.
	mostZeros = .35
)

// connectBehindUnread appends the nodes behind the one link over which the traffic waiting at a switch may go on, where all
// measured links there are calm: the traffic must go somewhere, and readings fail one at a time. If several links
// qualify, it takes none. It skips links between a dragonfly's switches: any two of a group are adjacent, and any two
// groups, so what lies behind a quiet cable is near anything that waits.
func (t *waiting) connectBehindUnread(l linkID) {
	w := t.waits
	d := w.to[l]
	if w.toHost(l) || t.stalledInto(d) < fewestBefore {
		return
	}
	begin := len(t.next.at)
	for _, s := range w.out.of(d) {
		if !t.mayBeUnread(s) || w.toHost(s) || w.isFlat(s) || !w.mayWait(l, s) {
			continue
		}
		n, middle := len(t.next.at), t.middleBehind(d)
		t.appendBehind(s, leastBehind*middle, mostBehind*middle)
		if n > begin && len(t.next.at) > n {
			t.next.at = t.next.at[:begin]
			return
		}
	}
}

// middleBehind is middleInto, found once for all links into a switch that ask in succession.
func (t *waiting) middleBehind(d deviceID) float64 {
	if t.middleOf != d {
		t.middleOf, t.middle = d, t.middleInto(d)
	}
	return t.middle
}

// mayBeUnread reports whether a link has no value, or a zero that may be wrong.
func (t *nodes) mayBeUnread(l linkID) bool {
	return t.values[l] == linkset.Missing || t.values[l] == 0 && t.noise.zeros <= mostZeros
}

// appendBehind appends the nodes that a link may wait for whose stall is between least and most.
func (t *waiting) appendBehind(l linkID, least, most float64) {
	for _, j := range t.leaving.of(t.waits.to[l]) {
		if t.waits.mayWait(l, t.links[j]) && least <= t.stall[j] && t.stall[j] <= most {
			t.next.at = append(t.next.at, j)
		}
	}
}
