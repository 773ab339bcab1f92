package trees

import "github.com/giverny/giverny/segment/linkset"

const (
	// So many links wait at a switch of which nothing that leaves it is seen to be why: one may be hot alone.
	fewestPast = 2
	// What lies behind an unread link, as a multiple of the middle of those that wait for it: stall falls from hop to hop.
	leastPast, mostPast = 1, 3
	// Of calm links, the part that reads zero from which a zero says nothing: where there is noise, few do.
	mostZeros = .5
)

// lookPast appends the nodes behind the one link that what waits at a switch may go on over, where all that is measured there is
// calm: what waits must go on somewhere, and readings fail one by one. Of several that may be it none is taken. Not within a
// dragonfly's group, where any two switches are joined, and what is behind a quiet cable is near whatever waits.
func (t *trees) lookPast(l int32) {
	w := t.waits
	d := w.to[l]
	if w.toHost(l) || t.stalledInto(d) < fewestPast {
		return
	}
	t.sample = t.sample[:0]
	for _, i := range t.into.of(d) {
		t.sample = append(t.sample, t.stall[i])
	}
	middle, begin := medianOf(t.sample), len(t.next.at)
	for _, s := range w.out.of(d) {
		if !t.mayBeUnread(s) || w.toHost(s) || w.isWithinGroup(s) || !w.mayWait(l, s) {
			continue
		}
		n := len(t.next.at)
		t.appendBehind(s, leastPast*middle, mostPast*middle)
		if n > begin && len(t.next.at) > n {
			t.next.at = t.next.at[:begin]
			return
		}
	}
}

// mayBeUnread reports whether a link has no value, or a zero that need not be right.
func (t *trees) mayBeUnread(l int32) bool {
	return t.values[l] == linkset.Missing || t.values[l] == 0 && t.noise.zeros <= mostZeros
}

// appendBehind appends the nodes that a link may wait for which stall from least to most.
func (t *trees) appendBehind(l int32, least, most float64) {
	for _, j := range t.leaving.of(t.waits.to[l]) {
		if t.waits.mayWait(l, t.links[j]) && least <= t.stall[j] && t.stall[j] <= most {
			t.next.at = append(t.next.at, j)
		}
	}
}
