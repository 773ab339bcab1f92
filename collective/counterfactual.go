package collective

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A culprit is reported if its share of the makespan is at least leastShare; without
// evidence in the network, leastUnexplained.
const (
	leastShare       = 0.01
	leastUnexplained = 0.03
	sureEnough       = 0.55
	notSure          = 0.5 // highest confidence of what the records cannot show
)

// most is how many culprits are replayed one by one.
const most = 64

// ranked is a culprit with its shares.
type ranked struct {
	who      string
	critical int64 // sum of its shares on the critical path
	total    int64
	face     Culprit
	cost     int64
	alone    int64 // its cost as the only culprit
}

// culprits computes each culprit's cost: the makespan less the makespan of the run
// replayed without it, with every step still after those it waits for. expected is the
// makespan without any reported culprit; losses say where the costs arose.
func (a *analysis) culprits(path []int32) (out []Culprit, expected int64, losses []Loss) {
	t := a.t
	makespan := t.last - t.first
	expected = makespan
	critical := a.onPath(path)
	list := a.rank(critical)
	var reported []ranked
	if len(list) == 0 {
		return nil, expected, nil
	}
	sim := newReplayer(a)
	none := sim.eachAlone(list)
	for i := range list {
		if a.stop() {
			return nil, expected, nil
		}
		r := &list[i]
		r.face = a.describe(r.who, critical)
		if r.cost = makespan - none; len(list) > 1 {
			r.cost = makespan - sim.without(*r)
		}
		r.alone -= none
	}
	sharedCost(list, makespan-none)
	for _, r := range list {
		c := r.face
		if c.CostNanos, c.AloneNanos = r.cost, r.alone; float64(c.CostNanos) >= c.least()*float64(makespan) {
			c.CostRangeNanos = sim.costRange(r)
			out = append(out, c)
			reported = append(reported, r)
		}
	}
	if len(reported) == len(list) {
		expected = none
	} else if len(out) > 0 {
		expected = sim.without(reported...)
	}
	for _, c := range out { // costs hidden by others are shared among those reported
		if expected = min(expected, makespan-c.CostNanos); len(out) == 1 {
			expected = makespan - c.CostNanos
		}
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(out[y].CostNanos, out[x].CostNanos) })
	sorted := make([]Culprit, 0, len(out))
	for n, i := range order {
		sorted = append(sorted, out[i])
		losses = a.losses(losses, n, reported[i].who, out[i].CostNanos, critical)
	}
	return sorted, expected, losses
}

// least is the smallest share of the makespan at which the culprit is reported.
func (c *Culprit) least() float64 {
	if c.Confidence < sureEnough {
		return leastUnexplained
	}
	return leastShare
}

// losses appends where a culprit's cost arose, in proportion to its shares: on the
// steps of the critical path that it slowed, or on all its steps if none of them is
// critical.
func (a *analysis) losses(out []Loss, culprit int, who string, cost int64, critical []bool) []Loss {
	t := a.t
	onPath, all := int64(0), int64(0)
	for _, s := range a.shares[who] {
		all += s.nanos
		if critical[s.step] {
			onPath += s.nanos
		}
	}
	sum := cmp.Or(onPath, all)
	if sum <= 0 {
		return out
	}
	taken := map[int32]int64{}
	for _, s := range a.shares[who] {
		if onPath == 0 || critical[s.step] {
			taken[s.step] += s.nanos
		}
	}
	for _, step := range slices.Sorted(maps.Keys(taken)) {
		r := &t.steps[step]
		l := Loss{Culprit: culprit, Rank: int(r.Rank), Peer: int(r.Peer), BeginNanos: t.begin[step] - t.first, EndNanos: t.end[step] - t.first,
			Nanos: int64(float64(cost) * float64(taken[step]) / float64(sum))}
		if l.Nanos > 0 {
			out = append(out, l)
		}
	}
	return out
}

// sharedCost divides the time that no culprit costs alone because another one hides it:
// without only one of them the collective would be as slow as with both. Each gets half
// of the difference between its cost as the only culprit and its own cost (the Shapley
// value of two). Overlaps below a quarter of the loss are left as they are.
func sharedCost(list []ranked, loss int64) {
	counts := func(r *ranked) bool { return r.face.Confidence >= sureEnough || r.critical > 0 }
	rest, hidden := loss, int64(0)
	for i := range list {
		r := &list[i]
		rest -= r.cost
		if counts(r) {
			hidden += max(r.alone-r.cost, 0)
		}
	}
	if rest < loss/4 || hidden == 0 {
		return
	}
	for i := range list {
		if r := &list[i]; counts(r) {
			r.cost += int64(float64(rest) * float64(max(r.alone-r.cost, 0)) / float64(hidden))
		}
	}
}

// onPath marks the steps on the critical path.
func (a *analysis) onPath(path []int32) []bool {
	critical := make([]bool, len(a.t.steps))
	for _, i := range path {
		critical[i] = true
	}
	return critical
}

// rank orders the culprits by the time that they took on the critical path.
func (a *analysis) rank(critical []bool) []ranked {
	var list []ranked
	for who, shares := range a.shares {
		r := ranked{who: who}
		for _, s := range shares {
			r.total += s.nanos
			if critical[s.step] {
				r.critical += s.nanos
			}
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.critical, x.critical), cmp.Compare(y.total, x.total), cmp.Compare(x.who, y.who))
	})
	return list[:min(len(list), most)]
}

// face is what a culprit is reported as: a class at a place.
type face struct {
	class        Class
	flow, object string
}

// role is one of the faces of a culprit, and the time it took.
type role struct {
	face
	weight float64
	surest *listedEffect // the one of highest confidence
}

// describe returns what a culprit mainly did, by time on the critical path, or anywhere
// if it has none there.
func (a *analysis) describe(who string, critical []bool) Culprit {
	var seen []role
	best := 0
	roleOf := grow(&a.room.roles, a.kinds) // by effect: 1 + index of its role in seen; 0: none
	clear(roleOf)
	for _, s := range a.shares[who] {
		w := float64(s.nanos) * s.confidence * s.confidence
		if critical[s.step] {
			w *= 1e6
		}
		at := roleOf[s.number] - 1
		if at < 0 {
			f := face{s.class, s.flow, s.object}
			if at = slices.IndexFunc(seen, func(r role) bool { return r.face == f }); at < 0 {
				at = len(seen)
				seen = append(seen, role{face: f, surest: s.listedEffect})
			}
			roleOf[s.number] = at + 1
		}
		r := &seen[at]
		if r.weight += w; s.confidence > r.surest.confidence {
			r.surest = s.listedEffect
		}
		if r.weight > seen[best].weight {
			best = at
		}
	}
	face := seen[best].face
	if face.class == PFCRoot {
		face = a.direct(who, face, critical)
	}
	at := slices.IndexFunc(seen, func(r role) bool { return r.face == face })
	s := seen[at].surest
	return Culprit{Class: face.class, Flow: face.flow, Object: face.object, Confidence: math.Round(s.confidence*100) / 100, Evidence: s.evidence}
}

// direct returns what a flow at the root of pauses did to nearly critical steps that
// cross the root themselves. If that took nearly as long as the pauses, the flow is
// reported as contending directly, and the pauses are its side effect.
func (a *analysis) direct(who string, paused face, critical []bool) face {
	slack := a.slack()
	near := leastShare * float64(a.t.last-a.t.first)
	behind, weight, best := 0.0, map[face]float64{}, paused
	for _, s := range a.shares[who] {
		f := face{s.class, s.flow, s.object}
		switch {
		case s.class == PFCRoot && critical[s.step]:
			behind += float64(s.nanos)
		case s.class != PFCRoot && float64(slack[s.step]) <= near:
			if weight[f] += float64(s.nanos); best == paused || weight[f] > weight[best] {
				best = f
			}
		}
	}
	if weight[best] < 0.8*behind {
		return paused
	}
	return best
}

// replayer holds what a counterfactual run removes from each step: all zero between
// calls.
type replayer struct {
	a          *analysis
	less, idle []int64
	ends       []int64
	met        map[string]int64 // by culprit, the end of the last collision it caused
	collided   []int64          // what collisions of the collective's flows took of each step
}

func newReplayer(a *analysis) *replayer {
	n := len(a.t.steps)
	return &replayer{a: a, less: grow(&a.room.less, n), idle: grow(&a.room.idle, n), ends: grow(&a.room.ends, n)}
}

// without returns the makespan of the run without the given culprits.
func (r *replayer) without(list ...ranked) int64 { return r.replay(names(list), whole) }

// eachAlone returns the makespan without any of the culprits, and sets each one's
// alone: the makespan with it as the only one.
func (r *replayer) eachAlone(list []ranked) (none int64) {
	all := names(list)
	first := r.take(all, whole, 1)
	none = r.a.t.replay(r.less, r.idle, r.ends, first)
	for i := range list {
		if list[i].alone = r.a.t.last - r.a.t.first; len(list) > 1 {
			r.take(all[i:i+1], whole, -1)
			list[i].alone = r.a.t.replay(r.less, r.idle, r.ends, first)
			r.take(all[i:i+1], whole, 1)
		}
	}
	r.take(all, whole, -1)
	return none
}

func names(list []ranked) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.who
	}
	return out
}
