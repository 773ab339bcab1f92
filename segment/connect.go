package segment

// connect lists for every node those that it may wait for. Where there is none, links that are not measured
// are looked through, two at most: a switch that reports nothing. Then traffic may take a way that is not the
// shortest.
func (t *trees) connect() {
	t.begin, t.next = append(t.begin[:0], 0), t.next[:0]
	for _, l := range t.links {
		t.appendNext(l, l, false)
		for depth := 1; depth <= 2 && !t.hasNext() && t.isEvidence(l); depth++ {
			t.lookThrough(l, l, depth, false)
		}
		if !t.hasNext() && t.isTransit(l) {
			t.appendNext(l, l, true)
			if !t.hasNext() {
				t.lookThrough(l, l, 1, true)
			}
		}
		t.begin = append(t.begin, int32(len(t.next)))
	}
}

// hasNext reports whether the node that connect is at waits for any.
func (t *trees) hasNext() bool { return int(t.begin[len(t.begin)-1]) < len(t.next) }

// isEvidence reports whether a link shows that something is full behind its switch: one that stalls alone there does
// not, unless it is one of a group's to which others lead.
func (t *trees) isEvidence(l int32) bool {
	w := t.waits
	return t.stalledInto(w.to[l]) > 1 || w.isWithinGroup(l) && t.stalledInto(w.from[l]) > 0
}

// isTransit reports whether a link of a group enters a switch of which no host waits or is waited for: all that comes
// goes on, by a detour if need be.
func (t *trees) isTransit(l int32) bool {
	w := t.waits
	if !w.isWithinGroup(l) {
		return false
	}
	for _, j := range t.leaving.of(w.to[l]) {
		if t.toHost(j) {
			return false
		}
	}
	return t.stalledHosts(w.to[l]) == 0
}

// mayDetour reports whether a node may wait for another that is no less stalled, on a way that is not the shortest.
func (t *trees) mayDetour(l, s, first int32) bool {
	j, i := t.node[s], t.node[first]
	return t.waits.isDetour(l, s) && (j < 0 || t.stall[i]-t.stall[j] < slowSigmas*t.noise.sigma(t.stall[i]))
}

// appendNext appends the nodes after a link, for a node whose link is first.
func (t *trees) appendNext(l, first int32, detour bool) {
	w := t.waits
	if w.toHost(l) {
		return
	}
	for _, j := range t.leaving.of(w.to[l]) {
		s := t.links[j]
		if !w.mayWait(l, s) && !(detour && t.mayDetour(l, s, first)) {
			continue
		}
		if l != first && (w.to[s] == w.to[first] || t.stalledInto(w.from[s]) < minFeeders && (w.toHost(s) || t.stalledInto(w.to[s]) < minFeeders)) {
			continue // a lone hot link behind a missing one
		}
		t.next = append(t.next, j)
	}
}

func (t *trees) lookThrough(l, first int32, depth int, detour bool) {
	w := t.waits
	if w.toHost(l) {
		return
	}
	for _, s := range w.out.of(w.to[l]) {
		if t.values[s] != missing || w.toHost(s) || !w.mayWait(l, s) && !(detour && t.mayDetour(l, s, first)) || w.isUp(s) && !t.isBlindUp(w.to[l]) {
			continue
		}
		if depth > 1 {
			t.lookThrough(s, first, depth-1, detour)
		} else {
			t.appendNext(s, first, detour)
		}
	}
}

// isBlindUp reports whether half of the links up from a switch are not measured: traffic goes up over all of them,
// so that fewer are not where it waits.
func (t *trees) isBlindUp(d int32) bool {
	blind, up := 0, 0
	for _, s := range t.waits.out.of(d) {
		if t.waits.isUp(s) {
			up++
			if t.values[s] == missing {
				blind++
			}
		}
	}
	return 2*blind >= up
}
