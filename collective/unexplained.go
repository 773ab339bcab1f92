package collective

import (
	"cmp"
	"slices"
)

// borrow explains an open excess by the causes of neighbouring steps of the same flow:
// switches are polled only every few milliseconds, and a flow without its own record
// has no known end. A flow whose record shows that it was not running is not blamed.
func (a *analysis) borrow() {
	if len(a.open) == 0 {
		return
	}
	byStep := map[int32][]cause{}
	for who, shares := range a.shares {
		for _, s := range shares {
			byStep[s.step] = append(byStep[s.step], cause{who: who, class: s.class, flow: s.flow, object: s.object, at: s.at,
				weight: float64(s.nanos), confidence: s.confidence, evidence: s.evidence, inferred: s.inferred})
		}
	}
	var left []open
	for _, o := range a.open {
		causes := a.neighbours(o.step, byStep)
		sum := 0.0
		for _, c := range causes {
			sum += c.weight
		}
		if sum == 0 {
			left = append(left, o)
			continue
		}
		for _, c := range causes {
			c.confidence *= 0.9
			a.give(c, o.step, int64(float64(o.nanos)*c.weight/sum), false)
		}
	}
	a.open = left
}

// neighbours returns the causes of the nearest explained step of the same flow, if all
// steps in between took too long.
func (e *evidence) neighbours(step int32, byStep map[int32][]cause) []cause {
	s := e.stream(int(step))
	if s == nil {
		return nil
	}
	at, _ := slices.BinarySearchFunc(s.steps, e.t.begin[step], func(k int32, begin int64) int { return cmp.Compare(e.t.begin[k], begin) })
	noise := e.base.excess(int(step)) < e.base.of(int(step))/8
	open := [2]bool{true, true}
	for distance := 0; distance <= maxBorrow && (open[0] || open[1]); distance++ {
		for side, k := range [2]int{at - distance, at + distance} {
			open[side] = open[side] && k >= 0 && k < len(s.steps) && e.base.excess(int(s.steps[k])) > 0
			if !open[side] {
				continue
			}
			var out []cause
			for _, c := range byStep[s.steps[k]] {
				if noise || !e.ended(c, step) {
					out = append(out, c)
				}
			}
			if len(out) > 0 {
				slices.SortStableFunc(out, func(x, y cause) int { return cmp.Compare(x.who, y.who) })
				return out
			}
		}
	}
	return nil
}

// maxBorrow is how many steps away a cause may be borrowed from.
const maxBorrow = 256

// ended reports whether a cause is a flow whose record shows that it did not run during
// a step.
func (e *evidence) ended(c cause, step int32) bool {
	if c.flow == "" {
		return false
	}
	for _, f := range e.tr.others {
		if f.Name == c.flow && (!f.recorded || f.sent(e.t.begin[step], e.t.end[step]) > 0) {
			return false
		}
	}
	return c.class != SelfCollision
}

// alwaysSlow is the share of a host's steps that are slow without a cause in the network:
// from here on the host is slow; below it something else used its NIC for a while.
const alwaysSlow = 0.8

// atSources explains the rest: no switch saw a cause, so it is at the sender (or at a
// receiver whose own sending is slow too). Protocol noise, below 8% of a step, is left
// to spreadNoise.
func (a *analysis) atSources() {
	if len(a.open) == 0 {
		return
	}
	slow, all := map[int32]int{}, map[int32]int{}
	for i := range a.t.steps {
		all[a.t.steps[i].Rank]++
	}
	var left []open
	for _, o := range a.open {
		if o.nanos > a.base.of(int(o.step))*8/100 {
			left = append(left, o)
			slow[a.t.steps[o.step].Rank]++
		} else {
			a.noise = append(a.noise, o)
		}
	}
	always := func(rank int32) bool {
		return rank >= 0 && all[rank] > 2 && float64(slow[rank]) >= alwaysSlow*float64(all[rank])
	}
	for _, o := range left {
		r := &a.t.steps[o.step]
		rank := r.Rank
		if !always(rank) && always(r.Peer) {
			rank = r.Peer
		}
		node := "host " + a.t.run.Ranks[rank].Node
		c := cause{who: "nic " + node, class: HostNICContention, object: node, confidence: 0.5, evidence: "the host's steps are slow for a while, and no switch saw a reason"}
		switch {
		case len(a.shares[node]) > 0: // it pauses the network: a NIC that receives slowly sends slowly
			c.who, c.class, c.evidence = node, SlowHost, "the host's own steps are slow too, and no switch saw a reason"
		case always(rank):
			c.who, c.class, c.evidence = node, SlowHost, "the host's steps are slow all the time, and no switch saw a reason"
		}
		a.give(c, o.step, o.nanos, false)
	}
	a.open = nil
}

// unexplained is the time that the run would save if every step took as long as expected,
// where some did not and nothing is blamed for it.
func (a *analysis) unexplained() int64 {
	if len(a.noise) == 0 {
		return 0
	}
	last := a.t.first
	for _, s := range a.healthy() {
		last = max(last, s.to)
	}
	return a.t.last - last
}

// stragglers blames ranks that had all inputs and began a step late, beyond what is
// usual for that step: the lower median over the ranks, which includes compute time
// common to all.
func (a *analysis) stragglers() {
	t, done := a.t, 0
	for _, gap := range t.gaps {
		from, to := int(gap), int(gap)
		if from < done {
			continue
		}
		for from > done && sameStep(&t.steps[from-1], &t.steps[gap]) {
			from--
		}
		for to < len(t.steps) && sameStep(&t.steps[to], &t.steps[gap]) {
			to++
		}
		a.idle(from, to)
		done = to
	}
}

func sameStep(a, b *StepRecord) bool {
	return a.Step == b.Step && a.Iteration == b.Iteration && a.Communicator == b.Communicator
}

func (a *analysis) idle(from, to int) {
	t := a.t
	var gaps []int64
	for i := from; i < to; i++ {
		gaps = append(gaps, t.begin[i]-t.ready(i))
	}
	slices.Sort(gaps)
	usual := max(gaps[(len(gaps)-1)/2], 0)
	for i := from; i < to; i++ {
		late := t.begin[i] - t.ready(i) - usual
		if t.lost != nil && t.lost[i] || late < shortestGap || late < a.base.of(i)/20 {
			continue
		}
		node := "host " + t.run.Ranks[t.steps[i].Rank].Node
		c := cause{who: "rank " + node, class: Straggler, object: node, confidence: 0.9, evidence: "it began late although it had all that the step needs"}
		if len(t.holes) > len(t.steps)/manyHoles {
			c.confidence, c.evidence = notSure, "it began late although it had all that the step needs, as far as that is recorded"
		}
		a.give(c, int32(i), late, true)
	}
}

// spreadNoise distributes the rest. The ranks of a healthy collective keep in step.
// Culprits put them out of step, so that their flows meet each other's acknowledgements
// and rate control slows them for a while afterwards. Such losses are divided among
// earlier culprits in proportion to what these took; without a culprit they are not
// attributed.
func (a *analysis) spreadNoise() {
	type taken struct {
		first int64
		nanos float64
		cause cause
	}
	var all []taken
	for who, shares := range a.shares {
		x := taken{first: a.t.last}
		for _, s := range shares {
			x.first = min(x.first, a.t.begin[s.step])
			x.nanos += float64(s.nanos)
			x.cause = cause{who: who, class: s.class, flow: s.flow, object: s.object, evidence: s.evidence}
		}
		if x.nanos >= leastShare*float64(a.t.last-a.t.first) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y taken) int { return cmp.Compare(x.cause.who, y.cause.who) })
	noise := bySteps(a.noise)
	sums := make([]float64, len(noise))
	for i, o := range noise {
		for _, x := range all {
			if x.first < a.t.end[o.step] {
				sums[i] += x.nanos
			}
		}
	}
	for _, x := range all {
		shares, listed := a.shares[x.cause.who], a.list(x.cause.effect())
		for i, o := range noise {
			if x.first < a.t.end[o.step] {
				shares = append(shares, share{listedEffect: listed, step: o.step, nanos: int64(float64(o.nanos) * x.nanos / sums[i])})
			}
		}
		a.shares[x.cause.who] = shares
	}
}

// bySteps sums the open excess of each step.
func bySteps(list []open) []open {
	slices.SortFunc(list, func(x, y open) int { return int(x.step - y.step) })
	out := list[:0]
	for _, o := range list {
		if n := len(out); n > 0 && out[n-1].step == o.step {
			out[n-1].nanos += o.nanos
			continue
		}
		out = append(out, o)
	}
	return out
}
