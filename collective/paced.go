package collective

import (
	"fmt"
	"maps"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// A host sends slowly if even its fastest steps take pacedLeast times as long as
// healthy ones, and at least half of its undisturbed steps are about as fast as these.
const (
	pacedLeast  = 1.25 // of a healthy step
	pacedAlike  = 1.15 // of its fastest step
	pacedSteps  = 4    // fewest steps needed
	pacedPauses = 0.05 // share of a step for which its NIC may be paused
)

// findPaced finds the hosts that always send too slowly, and by what factor: their
// steps all run at one rate below the nominal or more slowly, also those during which
// nothing else leaves by the NIC and nothing pauses it, and no other port that these
// have in common was never full.
func (a *analysis) findPaced() {
	a.paced = map[int]float64{}
	if len(a.tr.own) == 0 || len(a.tr.own) == len(a.t.run.Ranks) {
		return // each sends to a single other: a slow path looks the same
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

// pace records the slowdown factor of the steps' host if it is slow.
func (a *analysis) pace(steps []int32) {
	least, last := 0.0, int64(0)
	for n, i := range steps {
		if a.t.begin[i] < last {
			return // concurrent steps share the NIC
		}
		last = a.t.end[i]
		if ratio := a.ratio(i); n == 0 || ratio < least {
			least = ratio
		}
	}
	if least < pacedLeast {
		return
	}
	host := a.stream(int(steps[0])).Source
	var common map[network.Port]bool // of the undisturbed steps' paths
	alike, free := 0, 0
	for _, i := range steps {
		s := a.stream(int(i))
		if s.Source != host {
			return
		}
		if a.stops(s, i) {
			continue
		}
		free++
		if a.ratio(i) <= pacedAlike*least {
			alike++
			common = shared(common, a.tr.route(s))
		}
	}
	maps.DeleteFunc(common, func(p network.Port, _ bool) bool { return p.Node != host && !a.neverFull(p) })
	if alike > 0 && 2*alike >= free && len(common) <= 1 {
		a.paced[host] = least
	}
}

// ratio is the actual over the healthy duration of a step.
func (e *evidence) ratio(i int32) float64 {
	return float64(e.t.end[i]-e.t.begin[i]) / float64(max(e.base.of(int(i)), 1))
}

// stops reports whether a known cause slows a step at its NIC or on its path: a pause,
// another flow, or a link below its rate.
func (e *evidence) stops(s *stream, i int32) bool {
	from, to := e.t.begin[i], e.t.end[i]
	if len(e.tr.route(s).SlowAt) > 0 || e.pauses.fraction(e.tr.net.NIC(s.Source), from, to) > pacedPauses {
		return true
	}
	return slices.ContainsFunc(e.tr.others, func(f *stream) bool { return f.Source == s.Source && f.sent(from, to) > 0 })
}

// shared returns the ports that a path has in common with the earlier ones; nil: none
// yet.
func shared(common map[network.Port]bool, way *network.Route) map[network.Port]bool {
	out := map[network.Port]bool{}
	for _, p := range way.Ports {
		if way.Certain(p) && (common == nil || common[p]) {
			out[p] = true
		}
	}
	return out
}

const paceEvidence = "it sends to all at one pace below its link's rate, and nothing pauses it"

// atPace attributes the slow sender's part of a step's excess, and returns the rest.
func (a *analysis) atPace(i int, excess int64) int64 {
	if len(a.paced) == 0 {
		return excess
	}
	s := a.stream(i)
	if s == nil || a.paced[s.Source] == 0 {
		return excess
	}
	taken := min(int64((a.paced[s.Source]-1)*float64(a.base.of(i))), excess)
	a.give(cause{who: a.host(s.Source), class: SlowHost, object: a.host(s.Source), confidence: 0.8,
		evidence: paceEvidence}, int32(i), taken, false)
	if excess -= taken; excess <= small(a.base.of(i)) {
		return 0
	}
	return excess
}

// pacedByLink moves the shares of slow senders to their own link if it was found slow
// in the other direction.
func (a *analysis) pacedByLink() {
	for host := range a.paced {
		h, ok := a.tr.net.Next(a.tr.net.NIC(host))
		if !ok {
			continue
		}
		who, by := a.host(host), fmt.Sprint("link ", h.Link)
		if len(a.shares[by]) == 0 {
			continue
		}
		c, kept := a.shares[by][0], a.shares[who][:0]
		for _, s := range a.shares[who] {
			if s.evidence != paceEvidence { // it also pauses others
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
