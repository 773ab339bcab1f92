package scenario

import (
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/topology"
)

// fitLoad reduces traffic that would load some link or NIC of this fabric more than any at home, in proportion: on a fabric with
// fewer paths a job that is quiet at home would otherwise congest it, and hide what the story is about. What is slow is slowed as
// much more, so that the traffic that remains still waits for it.
func (s *Script) fitLoad(own *Script, home, g *topology.Graph) {
	was, err := New(home, own, 1, 0)
	if err != nil {
		return
	}
	now, err := New(g, s, 1, 0)
	if err != nil {
		return // the caller's New says why
	}
	least := 1. // of the factors
	for i := range s.Jobs {
		before, after := was.fullest(&own.Jobs[i]), now.fullest(&s.Jobs[i])
		for k := range before {
			if after[k] > before[k] {
				least = min(least, before[k]/after[k])
				s.Jobs[i].Traffic[k].GigabytesPerSecond *= before[k] / after[k]
			}
		}
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.Do == SlowHost || e.Do == SlowLink {
			e.Percent *= least
		}
	}
}

// fullest is, by kind of traffic of a job, the largest share of its capacity that it asks of a link or NIC; more than 1 if it does
// not fit.
func (r *Runner) fullest(j *Job) []float64 {
	most := make([]float64, len(j.Traffic))
	alloc := newAllocator(r.graph, r.alloc.rng)
	alloc.storage = r.alloc.storage
	place, err := alloc.place(j)
	if err != nil {
		return most
	}
	for k := range j.Traffic {
		var f fluid.Flows
		r.network.routeFlows(&f, &j.Traffic[k], place, r.seed)
		for _, share := range r.model.Shares(&f) {
			most[k] = max(most[k], share)
		}
	}
	return most
}
