package collective

import "slices"

// shortestGap, in ns, is the least time between the last input of a step and its begin
// that counts as a delay of the rank.
const shortestGap = 20_000

// bounds sets the first begin and the last end, and finds the steps that began later
// than possible.
func (t *table) bounds() {
	if t.bounded {
		return
	}
	t.gaps = t.gaps[:0]
	for i := range t.begin {
		if i == 0 || t.begin[i] < t.first {
			t.first = t.begin[i]
		}
		if i == 0 || t.end[i] > t.last {
			t.last, t.lastStep = t.end[i], int32(i)
		}
	}
	for i := range t.begin {
		if t.begin[i]-t.ready(i) > shortestGap {
			t.gaps = append(t.gaps, int32(i))
		}
	}
}

// binding is the predecessor that step i waited for: the one that ended last (poster:
// "retain only one edge"). If both ended in the same nanosecond it is the awaited
// transfer, provided the record says that it was still missing. -1: none, or the rank's
// own step in the part before (see start).
func (t *table) binding(i int) int32 {
	own, awaited := t.own[i], t.awaited[i]
	switch {
	case own < 0 && awaited >= 0 && t.before != nil && t.start(i) > t.end[awaited]:
		return -1
	case own < 0 || awaited < 0:
		return max(own, awaited)
	case t.end[awaited] > t.end[own] && t.end[awaited] <= t.end[i]:
		return awaited
	case t.end[awaited] == t.end[own] && (t.hint == nil || t.hint[i]):
		return awaited
	}
	return own
}

// ready is when step i had all inputs; for a step without predecessors see start.
func (t *table) ready(i int) int64 {
	if p := t.binding(i); p >= 0 {
		return t.end[p]
	}
	return t.start(i)
}

// start is the ready time of a step without predecessors: when its chain's last step
// ended in the part of the run before this one; otherwise the begin of the run.
func (t *table) start(i int) int64 {
	if r, ok := t.before[chainOf(&t.steps[i])]; ok {
		if t.offset != nil {
			return r.EndNanos - t.offset[r.Rank]
		}
		return r.EndNanos
	}
	return t.first
}

// lastOr is the step at a place, or the step that ended last if there is none.
func (t *table) lastOr(at *place) int32 {
	if at != nil {
		for i := len(t.steps) - 1; i >= 0; i-- {
			if placeOf(&t.steps[i]) == *at {
				return int32(i)
			}
		}
	}
	return t.lastStep
}

// comesFrom is the step of the part before that a path continues; nil: none.
func (t *table) comesFrom(path []int32) *place {
	if len(path) > 0 {
		if r, ok := t.before[chainOf(&t.steps[path[0]])]; ok {
			at := placeOf(&r)
			return &at
		}
	}
	return nil
}

// criticalSteps walks back from a step (-1: none) and returns the path in forward order.
func (t *table) criticalSteps(from int32) []int32 {
	var path []int32
	for i, at := from, t.last; i >= 0 && len(path) < len(t.steps); {
		path = append(path, i)
		at = min(at, t.begin[i])
		p := t.binding(int(i))
		if p < 0 {
			if _, ok := t.before[chainOf(&t.steps[i])]; !ok {
				p = t.idleSince(i, at)
			}
		}
		i = p
	}
	slices.Reverse(path)
	return path
}

// idleSince is the last step of the same rank, in any communicator, that ended by time
// at: the implied predecessor of a step without any.
func (t *table) idleSince(i int32, at int64) int32 {
	best := int32(-1)
	if at <= t.first {
		return best
	}
	for j := range t.steps {
		if int32(j) != i && t.steps[j].Rank == t.steps[i].Rank && t.end[j] <= at && (best < 0 || t.end[j] > t.end[best]) {
			best = int32(j)
		}
	}
	return best
}

// segments is the critical path from the first begin to the last end, without gaps or
// overlaps.
func (t *table) segments(path []int32) []Segment {
	var out []Segment
	at := t.first
	if len(path) > 0 {
		at = t.start(int(path[0]))
	}
	for _, i := range path {
		r := &t.steps[i]
		s := Segment{
			Rank: int(r.Rank), Node: t.run.Ranks[r.Rank].Node, Step: int(r.Step), Communicator: int(r.Communicator),
			Iteration: int(r.Iteration), Channel: int(r.Channel), Chunk: int(r.Chunk),
		}
		if r.Peer >= 0 {
			s.Peer = t.run.Ranks[r.Peer].Node
		}
		if t.begin[i] > at {
			gap := s
			gap.Kind, gap.BeginNanos, gap.EndNanos = Compute, at-t.first, t.begin[i]-t.first
			if t.lost != nil && t.lost[i] {
				gap.Kind = Wait
			}
			out = append(out, gap)
			at = t.begin[i]
		}
		if t.end[i] > at || t.end[i] == t.begin[i] {
			s.Kind, s.BeginNanos, s.EndNanos = Transfer, at-t.first, t.end[i]-t.first
			out = append(out, s)
			at = t.end[i]
		}
	}
	return out
}

// replay computes the ends of all steps if step i took less[i] less time and began
// idle[i] sooner after its inputs; steps before from are unchanged. The other measured
// gaps between a step and its predecessors stay. It returns the makespan.
func (t *table) replay(less, idle, ends []int64, from int) (makespan int64) {
	copy(ends[:from], t.end[:from])
	last := t.first
	for _, end := range t.end[:from] {
		last = max(last, end)
	}
	for i := from; i < len(t.steps); i++ {
		ready, was := t.first, t.first
		own, a := t.own[i], t.awaited[i]
		if own >= 0 {
			ready, was = ends[own], t.end[own]
		} else if t.before != nil {
			was = t.start(i)
			ready = was
		}
		if a >= 0 && t.end[a] <= t.end[i] {
			ready, was = max(ready, ends[a]), max(was, t.end[a])
		}
		end := ready + t.end[i] - was - less[i] - idle[i]
		ends[i] = end
		last = max(last, end)
	}
	return last - t.first
}

// slack is how much later each step could have ended without a longer makespan.
func (t *table) slack() []int64 {
	latest := make([]int64, len(t.steps))
	for i := range latest {
		latest[i] = t.last
	}
	for i := len(t.steps) - 1; i >= 0; i-- {
		own, a := t.own[i], t.awaited[i]
		ready := t.first
		if own >= 0 {
			ready = t.end[own]
		} else if t.before != nil {
			ready = t.start(i)
		}
		if a >= 0 && t.end[a] <= t.end[i] {
			ready = max(ready, t.end[a])
		}
		must := latest[i] - (t.end[i] - ready)
		for _, p := range [2]int32{own, a} {
			if p >= 0 {
				latest[p] = min(latest[p], must)
			}
		}
		latest[i] -= t.end[i]
	}
	return latest
}
