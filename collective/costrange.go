package collective

import "slices"

// costRange bounds the cost of a culprit where the records leave it open. At least it is
// what the makespan loses without the shares that the records show; at most what the
// culprit would cost as the only one, or together with the collective's own collisions
// that came after it, which may be its doing: it put the ranks out of step. It is zero
// where both ends are the cost, within costMargin.
func (r *replayer) costRange(of ranked, cost, alone int64) (ends [2]int64) {
	t := r.a.t
	makespan := t.last - t.first
	low, high := cost, max(cost, alone)
	first, unsure, more := t.last, false, false
	for _, s := range r.a.shares[of.who] {
		first = min(first, t.begin[s.step])
		unsure = unsure || s.confidence < sureEnough
		more = more || s.most > s.nanos
	}
	if unsure || alone > cost {
		low = min(low, makespan-r.replay([]string{of.who}, func(_ string, s *share) int64 {
			if s.confidence >= sureEnough {
				return s.nanos
			}
			return 0
		}))
	}
	names := append(r.collisionsAfter(first, of.who), of.who)
	if more || len(names) > 1 {
		high = max(high, makespan-r.replay(names, func(who string, s *share) int64 {
			switch {
			case who == of.who:
				return max(s.nanos, s.most)
			case s.class == SelfCollision && t.end[s.step] > first:
				return s.nanos
			}
			return 0
		}))
	}
	if margin := int64(costMargin * float64(cost)); cost-low <= margin && high-cost <= margin {
		return ends
	}
	return [2]int64{max(low, 0), high}
}

// costMargin is how far a cost may be off that is given without a range.
const costMargin = 0.05

// collisionsAfter are the culprits, but for one, that are flows of the collective which
// met after a time.
func (r *replayer) collisionsAfter(first int64, but string) (names []string) {
	for who, shares := range r.a.shares {
		after := func(s share) bool { return s.class == SelfCollision && r.a.t.end[s.step] > first }
		if who != but && slices.ContainsFunc(shares, after) {
			names = append(names, who)
		}
	}
	return names
}

// replay is the makespan without a part of each share of some.
func (r *replayer) replay(names []string, part func(who string, s *share) int64) int64 {
	first := len(r.less)
	take := func(sign int64) {
		for _, who := range names {
			shares := r.a.shares[who]
			for i := range shares {
				nanos := part(who, &shares[i])
				step := int(shares[i].step)
				first = min(first, step)
				if shares[i].idle {
					r.idle[step] += sign * nanos
				} else {
					r.less[step] += sign * nanos
				}
			}
		}
	}
	take(1)
	makespan := r.a.t.replay(r.less, r.idle, r.ends, first)
	take(-1)
	return makespan
}
