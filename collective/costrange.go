package collective

// costRange bounds the cost of a culprit where the records leave it open. The lower end
// is what the makespan loses without the shares that the records prove. The upper end
// is the cost as the only culprit, or together with the collective's own collisions
// that came after it, which it may have caused by putting the ranks out of step. The
// range is zero if both ends are within costMargin of the cost.
func (r *replayer) costRange(of ranked) (ends [2]int64) {
	t := r.a.t
	makespan := t.last - t.first
	low, high := of.cost, max(of.cost, of.alone)
	sure := min(sureEnough, of.face.Confidence-0.005) // Confidence, which is rounded, already covers who it is
	unseen := len(t.run.Telemetry) == 0 && len(t.run.Pauses) == 0
	shown := func(s *share) bool { // without switch data, the steps still show late ranks, and the fabric its slow links
		return s.confidence >= sure && (!unseen || s.class == Straggler || s.class == SlowLink && !s.inferred)
	}
	first, unsure, more := t.last, false, false
	shares := r.a.shares[of.who]
	for i := range shares {
		s := &shares[i]
		first = min(first, t.begin[s.step])
		unsure = unsure || !shown(s)
		more = more || s.most > s.nanos
	}
	if unsure || of.alone > of.cost {
		low = min(low, makespan-r.replay([]string{of.who}, func(_ string, s *share) int64 {
			if shown(s) {
				return s.nanos
			}
			return 0
		}))
	}
	if r.collisionsAfter(first, of.who) || more {
		high = max(high, makespan-r.withCollisions(first, of.who))
	}
	if margin := int64(costMargin * float64(of.cost)); of.cost-low <= margin && high-of.cost <= margin {
		return ends
	}
	return [2]int64{max(low, 0), high}
}

// costMargin is the relative error below which a cost is given without a range.
const costMargin = 0.05

// collisionsAfter reports whether flows of the collective collided after a time,
// ignoring the culprit named by but.
func (r *replayer) collisionsAfter(first int64, but string) bool {
	if r.met == nil {
		r.findCollisions()
	}
	for who, last := range r.met {
		if who != but && last > first {
			return true
		}
	}
	return false
}

// findCollisions lists the collisions of the collective's flows.
func (r *replayer) findCollisions() {
	r.met, r.collided = map[string]int64{}, make([]int64, len(r.less))
	for who, shares := range r.a.shares {
		for i := range shares {
			if s := &shares[i]; s.class == SelfCollision {
				r.met[who] = max(r.met[who], r.a.t.end[s.step])
				r.collided[s.step] += s.nanos
			}
		}
	}
}

// withCollisions is the makespan without the most that a culprit may have taken, and
// without all collisions that end after a time.
func (r *replayer) withCollisions(after int64, who string) int64 {
	t := r.a.t
	for i, nanos := range r.collided {
		if nanos > 0 && t.end[i] > after {
			r.less[i] = nanos
		}
	}
	shares := r.a.shares[who]
	for i := range shares {
		s := &shares[i]
		if s.class == SelfCollision && t.end[s.step] > after {
			r.less[s.step] -= s.nanos // already counted in collided
		}
		if most := max(s.nanos, s.most); s.idle {
			r.idle[s.step] += most
		} else {
			r.less[s.step] += most
		}
	}
	makespan := t.replay(r.less, r.idle, r.ends, 0)
	clear(r.less)
	clear(r.idle)
	return makespan
}

// part returns how much of a share a counterfactual run removes.
type part func(who string, s *share) int64

// whole removes all of a share.
func whole(_ string, s *share) int64 { return s.nanos }

// replay returns the makespan with a part of each share of the named culprits removed.
func (r *replayer) replay(names []string, out part) int64 {
	first := r.take(names, out, 1)
	makespan := r.a.t.replay(r.less, r.idle, r.ends, first)
	count := 0
	for _, who := range names {
		count += len(r.a.shares[who])
	}
	if 8*count < len(r.less) {
		r.take(names, out, -1)
		return makespan
	}
	clear(r.less[first:])
	clear(r.idle[first:])
	return makespan
}

// take removes a part of each share of the named culprits from the steps (sign -1
// restores it), and returns the first step affected.
func (r *replayer) take(names []string, out part, sign int64) (first int) {
	first = len(r.less)
	for _, who := range names {
		shares := r.a.shares[who]
		for i := range shares {
			s := &shares[i]
			first = min(first, int(s.step))
			if s.idle {
				r.idle[s.step] += sign * out(who, s)
			} else {
				r.less[s.step] += sign * out(who, s)
			}
		}
	}
	return first
}
