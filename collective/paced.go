package collective

import "fmt"

// A host sends slowly if the fastest of its steps take this much longer than healthy
// ones, and half of its steps or more are as fast as these.
const (
	pacedLeast  = 1.25 // of a healthy step
	pacedAlike  = 1.05 // of its fastest step
	pacedSteps  = 4    // fewest steps that say something
	pacedPauses = 0.05 // share of a step for which its NIC may be paused
)

// findPaced notes the hosts that send too slowly all the time, and by what factor:
// their steps to several receivers, by ways that share the NIC alone, go at one pace
// below the nominal rate, though nothing else leaves by the NIC and nothing pauses it.
func (a *analysis) findPaced() {
	a.paced = map[int]float64{}
	if len(a.tr.own) == 0 || len(a.tr.own) == len(a.t.run.Ranks) {
		return // each sends to one other: what lies on the way looks the same
	}
	steps := make([][]int32, len(a.t.run.Ranks))
	for i := range a.t.steps {
		if a.stream(i) != nil {
			r := a.t.steps[i].Rank
			steps[r] = append(steps[r], int32(i))
		}
	}
	for _, list := range steps {
		if len(list) >= pacedSteps {
			a.pace(list)
		}
	}
}

// pace notes the pace of the host of some steps if it is a slow one.
func (a *analysis) pace(steps []int32) {
	least, last := 0.0, int64(0)
	for n, i := range steps {
		if a.t.begin[i] < last {
			return // steps at a time share the NIC by themselves
		}
		last = a.t.end[i]
		if ratio := a.ratio(i); n == 0 || ratio < least {
			least = ratio
		}
	}
	if least < pacedLeast {
		return
	}
	host := a.stream(int(steps[0])).source
	var common map[port]bool // of the ways
	alike, receivers := 0, map[int]bool{}
	for _, i := range steps {
		if a.ratio(i) > pacedAlike*least {
			continue
		}
		s := a.stream(int(i))
		if s.source != host || a.stops(s, i) {
			return
		}
		alike++
		receivers[s.destination] = true
		common = shared(common, a.tr.route(s))
	}
	if 2*alike >= len(steps) && len(receivers) > 1 && len(common) <= 1 {
		a.paced[host] = least
	}
}

// ratio is what a step lasts over what it should.
func (a *analysis) ratio(i int32) float64 {
	return float64(a.t.end[i]-a.t.begin[i]) / float64(max(a.base.of(int(i)), 1))
}

// stops reports whether something that is known slows a step at its NIC or on its
// way: a pause, another flow, or a link below its rate.
func (a *analysis) stops(s *stream, i int32) bool {
	from, to := a.t.begin[i], a.t.end[i]
	if len(a.tr.route(s).slowAt) > 0 || a.pauses.fraction(a.tr.net.nic(s.source), from, to) > pacedPauses {
		return true
	}
	for _, f := range a.tr.others {
		if f.source == s.source && f.sent(from, to) > 0 {
			return true
		}
	}
	return false
}

// shared is the ports that a way has in common with others; nil before the first.
func shared(common map[port]bool, way *route) map[port]bool {
	out := map[port]bool{}
	for _, p := range way.ports {
		if way.certain(p) && (common == nil || common[p]) {
			out[p] = true
		}
	}
	return out
}

const paceEvidence = "it sends to all at one pace below its link's rate, and nothing pauses it"

// atPace gives what a slow sender takes of a step, and returns what is left.
func (a *analysis) atPace(i int, excess int64) int64 {
	if len(a.paced) == 0 {
		return excess
	}
	s := a.stream(i)
	if s == nil || a.paced[s.source] == 0 {
		return excess
	}
	taken := min(int64((a.paced[s.source]-1)*float64(a.base.of(i))), excess)
	a.give(cause{who: a.host(s.source), class: SlowHost, object: a.host(s.source), confidence: 0.8,
		evidence: paceEvidence}, int32(i), taken, false)
	if excess -= taken; excess <= small(a.base.of(i)) {
		return 0
	}
	return excess
}

// pacedByLink gives what slow senders took to their own links where these were found
// slow in the other direction.
func (a *analysis) pacedByLink() {
	for host := range a.paced {
		h, ok := a.tr.net.next(a.tr.net.nic(host))
		if !ok {
			continue
		}
		who, by := a.host(host), fmt.Sprint("link ", h.link)
		if len(a.shares[by]) == 0 {
			continue
		}
		c, kept := a.shares[by][0], a.shares[who][:0]
		for _, s := range a.shares[who] {
			if s.evidence != paceEvidence { // it pauses others besides
				kept = append(kept, s)
				continue
			}
			c.step, c.nanos = s.step, s.nanos
			a.shares[by] = append(a.shares[by], c)
		}
		if a.shares[who] = kept; len(kept) == 0 {
			delete(a.shares, who)
		}
	}
}
