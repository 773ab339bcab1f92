package segment

import "slices"

const (
	// A link that is hotter than all that it could wait for, by this factor and so many deviations, waits for
	// a port that is full but not stalled, if as many links into its switch say so.
	unexplainedFactor = 1.8
	unexplainedSigmas = 6
	unexplainedLinks  = 3
	// A link is clearly above another by this factor and so many deviations; a slow one is above all that it may wait for by
	// more, since stall may rise a little from hop to hop.
	slowFactor, slowSigmas, slowStep = 1.25, 4, 1.4
	onlyWayLinks                     = 5  // hosts that wait for one of several links up: by chance they share it once in thousands
	slowRival                        = .6 // of its stall, at which another link into the same switch waits for the same
)

// findSlow finds the links between switches that may be where back pressure begins.
func (t *trees) findSlow() {
	t.slow, t.hottest = resize(t.slow, len(t.links)), resize(t.hottest, len(t.links))
	for i := range t.hottest {
		t.hottest[i] = 0
		if j := t.hottestAfter(int32(i)); j >= 0 {
			t.hottest[i] = t.stall[j]
		}
	}
	for i, l := range t.links {
		t.slow[i] = !t.waits.toHost(l) && t.isSlow(int32(i))
	}
	for _, d := range t.entered {
		t.keepFewSlow(d)
		t.findOdd(d)
	}
}

// mostSlow is how many links that leave one switch are slow at a time: more wait for something that is calm.
const mostSlow = 2

func (t *trees) keepFewSlow(d int32) {
	n := 0
	for _, i := range t.leaving.of(d) {
		if t.slow[i] {
			n++
		}
	}
	if n <= mostSlow {
		return
	}
	for _, i := range t.leaving.of(d) {
		t.slow[i] = false
	}
}

// findOdd finds the ports to hosts that are roots of their own: beside an exchange, those that are clearly above most
// others that stall at the switch; where traffic that goes on stalls as well, all.
func (t *trees) findOdd(d int32) {
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
		if !t.isCrossed(d, t.sample[len(t.sample)-1]) {
			return
		}
		usual = 0
	}
	for _, i := range t.leaving.of(d) {
		if t.toHost(i) {
			t.slow[i] = t.isClearlyAbove(t.stall[i], usual)
		}
	}
}

// isCrossed reports whether what enters a switch might wait rather for links that are hotter than its stalled ports.
func (t *trees) isCrossed(d int32, port float64) bool {
	crossing, ending := 0, 0
	for _, i := range t.into.of(d) {
		switch {
		case t.fromHost(i):
		case t.hottest[i] > port:
			crossing++
		case t.hottest[i] == port:
			ending++
		}
	}
	return crossing > 0 && ending < minFeeders
}

// findSinks marks the nodes at which back pressure begins: into a host, without a stalled link after them, or
// far hotter than any such, together with others at their switch.
func (t *trees) findSinks() {
	w := t.waits
	t.sink, t.port = resize(t.sink, len(t.links)), resize(t.port, len(t.links))
	for i, l := range t.links {
		t.sink[i] = -1
		t.port[i] = w.toHost(l)
		switch {
		case t.port[i] && t.slow[i]:
			t.sink[i] = t.placeOf(l)
		case t.port[i]:
			t.sink[i] = w.from[l]
		case t.slow[i]:
			t.port[i], t.sink[i] = true, t.placeOf(l)
		case len(t.mayWaitFor(int32(i))) == 0:
			t.sink[i] = w.to[l]
		}
	}
	for _, d := range t.entered {
		unexplained := 0
		for _, i := range t.into.of(d) {
			if t.isUnexplained(i) {
				unexplained++
			}
		}
		if unexplained < unexplainedLinks {
			continue
		}
		for _, i := range t.into.of(d) {
			if !t.port[i] && t.isUnexplained(i) {
				t.sink[i] = d
			}
		}
	}
}

// isClearlyAbove reports whether a stall is above another by the factor and the deviations that make a root.
func (t *trees) isClearlyAbove(stall, other float64) bool {
	return stall >= slowFactor*other && stall-other >= slowSigmas*t.noise.sigma(stall)
}

// isSlow reports whether a link between switches is where back pressure begins: a link that is degraded, or a port
// that is full and stalls because the switch behind it takes less than comes.
func (t *trees) isSlow(i int32) bool {
	w, l, stall := t.waits, t.links[i], t.stall[i]
	if w.fromHost(l) {
		return false
	}
	if t.isOnlyWay(i) {
		return true
	}
	if stall < slowStep*t.hottest[i] || !t.isClearlyAbove(stall, t.hottest[i]) || !t.standsOut(i) {
		return false
	}
	for _, j := range t.into.of(w.to[l]) {
		if j != i && t.stall[j] >= slowRival*stall && t.stall[j] > slowFactor*t.hottest[j] {
			return false
		}
	}
	waiting, hotter, most := 0, 0, stall+slowSigmas*t.noise.sigma(stall)
	for _, j := range t.into.of(w.from[l]) {
		switch {
		case !w.mayWait(t.links[j], l):
		case t.stall[j] > most:
			hotter++
		case t.standsOut(j):
			waiting++
		}
	}
	return waiting >= minFeeders && waiting > hotter
}

// standsOut reports whether a link is clearly above half of those that leave its switch for the same level: what those
// wait for is not why it stalls. A host has only one.
func (t *trees) standsOut(i int32) bool {
	w, level, rivals := t.waits, t.waits.level[t.to[i]], 0
	for _, j := range t.leaving.of(t.from[i]) {
		if j != i && w.level[t.to[j]] == level && !t.isClearlyAbove(t.stall[i], t.stall[j]) {
			rivals++
		}
	}
	least := 2 * rivals // of all others
	for _, k := range w.out.of(t.from[i]) {
		if least == 0 {
			break
		}
		if k != t.links[i] && t.values[k] != missing && w.level[w.to[k]] == level {
			least--
		}
	}
	return least == 0
}

// isOnlyWay reports whether all that waits at a switch waits for one of several links that traffic takes alike, and for
// none of the others: that one is slow, where the tree behind it comes over many.
func (t *trees) isOnlyWay(i int32) bool {
	w, l, stall := t.waits, t.links[i], t.stall[i]
	if !w.isUp(l) {
		return false
	}
	for _, j := range t.leaving.of(w.from[l]) {
		if j != i && (t.toHost(j) || w.isUp(t.links[j])) {
			return false
		}
	}
	calm := 0
	for _, k := range w.out.of(w.from[l]) {
		if k != l && w.isUp(k) && t.values[k] != missing {
			calm++
		}
	}
	waiting := 0
	for _, j := range t.into.of(w.from[l]) {
		if t.fromHost(j) && t.stall[j] <= stall+slowSigmas*t.noise.sigma(stall) {
			waiting++
		}
	}
	if calm < minFeeders || waiting < onlyWayLinks {
		return false
	}
	for _, j := range t.mayWaitFor(i) {
		into := 0
		for _, k := range t.into.of(t.to[j]) {
			if !t.fromHost(k) {
				into++
			}
		}
		if into >= minFeeders {
			return true
		}
	}
	return false
}

func (t *trees) isUnexplained(i int32) bool {
	if len(t.mayWaitFor(i)) == 0 {
		return false
	}
	best := t.hottest[i]
	return t.stall[i] > unexplainedFactor*best && t.stall[i]-best > unexplainedSigmas*t.noise.sigma(t.stall[i])
}
