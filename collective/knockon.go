package collective

import (
	"maps"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// span is when a step runs in the healthy schedule.
type span struct{ from, to int64 }

// schedule is the healthy schedule.
type schedule struct {
	spans  []span           // by step
	filled map[*stream]bool // whether a flow congests a port, where all collisions are one culprit
}

// knockOn withdraws the blame of the collective's own flows where they would not meet
// in the healthy schedule, in which every step takes its healthy duration and begins as
// soon as its inputs are there. There a culprit put the ranks out of step, so the delay
// belongs to the culprit (see spreadNoise). The same applies to unexplained slow steps
// after a known culprit that took more time.
func (a *analysis) knockOn() {
	if len(a.shares) == 0 || len(a.tr.own) == 0 {
		return
	}
	healthy := schedule{a.healthy(), map[*stream]bool{}}
	own := map[string]*stream{}
	for _, s := range a.tr.own {
		own[s.Name] = s
	}
	var taken []share
	for _, who := range a.names() {
		clear(healthy.filled)
		a.shares[who] = slices.DeleteFunc(a.shares[who], func(s share) bool {
			o := own[s.flow]
			if o == nil || s.idle || s.class != SelfCollision || a.meetsAnyway(&healthy, &s, o) {
				return false
			}
			taken = append(taken, s)
			return true
		})
		if len(a.shares[who]) == 0 {
			delete(a.shares, who)
		}
	}
	for _, s := range taken {
		if p, ok := a.commonLink(open{s.step, s.nanos}); ok {
			a.give(a.slowLinkAt(p, 0), s.step, s.nanos, false)
			continue
		}
		if slow := a.loneQueues(int(s.step), a.stream(int(s.step)), s.nanos); len(slow) > 0 && !a.anyBefore(s.step) {
			a.give(slow[0], s.step, s.nanos, false)
			continue
		}
		a.noise = append(a.noise, open{s.step, s.nanos})
	}
	a.slowAfter()
	a.dropSubsequent()
}

// anyBefore reports whether a known culprit began before a step ended.
func (a *analysis) anyBefore(step int32) bool {
	for _, shares := range a.shares {
		for _, s := range shares {
			if s.class != SlowLink && a.t.begin[s.step] < a.t.end[step] {
				return true
			}
		}
	}
	return false
}

func (a *analysis) names() []string { return slices.Sorted(maps.Keys(a.shares)) }

// healthy computes the schedule without any excess.
func (a *analysis) healthy() []span {
	t := a.t
	less, ends := make([]int64, len(t.steps)), make([]int64, len(t.steps))
	idle := make([]int64, len(t.steps))
	for _, shares := range a.shares {
		for _, s := range shares {
			if s.idle {
				idle[s.step] += s.nanos
			}
		}
	}
	for i := range t.steps {
		less[i] = a.base.excess(i)
	}
	t.replay(less, idle, ends, 0)
	spans := make([]span, len(t.steps))
	for i := range spans {
		spans[i] = span{ends[i] - (t.end[i] - t.begin[i] - less[i]), ends[i]}
	}
	return spans
}

// meetsAnyway reports whether a flow of the collective also slows a step in the healthy
// schedule: the step passes the same port, or the flow meets another one there.
func (e *evidence) meetsAnyway(healthy *schedule, s *share, o *stream) bool {
	if through := e.stream(int(s.step)); e.tr.passes(through, s.at) {
		return e.meets(healthy.spans, s.step, o)
	}
	fills, known := healthy.filled[o]
	if !known {
		fills = e.tr.passes(o, s.at) && e.fills(healthy.spans, o, s.at)
		healthy.filled[o] = fills
	}
	return fills
}

// meets reports whether, in the healthy schedule, a flow's steps overlap a step by a
// quarter of the shorter or more.
func (e *evidence) meets(healthy []span, step int32, o *stream) bool {
	s := healthy[step]
	for _, other := range o.steps {
		x := healthy[other]
		if overlap := min(s.to, x.to) - max(s.from, x.from); overlap > 0 && 4*overlap >= min(s.to-s.from, x.to-x.from) {
			return true
		}
	}
	return false
}

// fills reports whether a flow meets another flow of the collective, from another host,
// at a port in the healthy schedule.
func (e *evidence) fills(healthy []span, o *stream, at network.Port) bool {
	for _, other := range e.tr.list[:len(e.tr.own)] {
		if other == o || other.Source == o.Source || !e.tr.passes(other, at) {
			continue
		}
		for _, step := range other.steps {
			if e.meets(healthy, step, o) {
				return true
			}
		}
	}
	return false
}

// slowAfter turns the shares of inferred slow links into noise if another culprit came
// before: a slow link is slow from its first step on, and the queues of ranks that are
// out of step look the same.
func (a *analysis) slowAfter() {
	type blamed struct {
		who        string
		first, sum int64
		inferred   bool
	}
	var all []blamed
	for _, who := range a.names() {
		b := blamed{who: who, first: a.t.last, inferred: true}
		for _, s := range a.shares[who] {
			if s.confidence >= sureEnough {
				b.first = min(b.first, a.t.begin[s.step])
				b.sum += s.nanos
			}
			b.inferred = b.inferred && s.inferred
		}
		if float64(b.sum) >= 2*leastShare*float64(a.t.last-a.t.first) {
			all = append(all, b)
		}
	}
	for _, b := range all {
		before := func(o blamed) bool { return o.who != b.who && o.first <= b.first && (!o.inferred || o.sum > b.sum) }
		if !b.inferred || !slices.ContainsFunc(all, before) {
			continue
		}
		for _, s := range a.shares[b.who] {
			a.noise = append(a.noise, open{s.step, s.nanos})
		}
		delete(a.shares, b.who)
	}
}

// dropSubsequent turns unexplained shares, and collisions that are only possible, into noise
// if a culprit with evidence came before and took more.
func (a *analysis) dropSubsequent() {
	type taken struct{ first, nanos int64 }
	var known []taken
	for _, who := range a.names() {
		x := taken{first: a.t.last}
		for _, s := range a.shares[who] {
			if s.confidence >= sureEnough {
				x.nanos += s.nanos
				x.first = min(x.first, a.t.begin[s.step])
			}
			if s.class == SlowLink {
				x.first = a.t.first // it was slow before a step showed it
			}
		}
		if x.nanos > 0 {
			known = append(known, x)
		}
	}
	enough := int64(leastUnexplained * float64(a.t.last-a.t.first))
	for _, who := range a.names() {
		sum := int64(0)
		for _, s := range a.shares[who] {
			if s.class != SelfCollision && (s.class != HostNICContention || s.flow != "") || s.confidence >= sureEnough {
				sum = -1
				break
			}
			sum += s.nanos
		}
		if sum <= 0 {
			continue
		}
		a.shares[who] = slices.DeleteFunc(a.shares[who], func(s share) bool {
			after := slices.ContainsFunc(known, func(k taken) bool {
				return (k.nanos > sum || s.class == SelfCollision && k.nanos > enough) && k.first <= a.t.begin[s.step]
			})
			if after {
				a.noise = append(a.noise, open{s.step, s.nanos})
			}
			return after
		})
		if len(a.shares[who]) == 0 {
			delete(a.shares, who)
		}
	}
}
