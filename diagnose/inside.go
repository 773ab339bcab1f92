package diagnose

import (
	"github.com/giverny/giverny/schema"
)

// sameGround is the share of the smaller of two regions' links that must have an end at a switch of the other for both
// to be of one cause.
const sameGround = .5

// inside gives a region of what waits inside switches the verdict of the links around it that stall for credits, where
// these are held back by a host or a failure: packets wait inside the switches before such links too, and a job whose
// traffic is among them is held back, whatever its load was before.
func (s *Stage) inside(rc *regionCase, v verdict, cases []regionCase) verdict {
	if rc.region.Metric != schema.InqStall || !s.graph.Duplex() {
		return v
	}
	var of *regionCase
	for i := range cases {
		c := &cases[i]
		if c.region.Metric == schema.CreditStall && c.region.Severity >= rc.region.Severity && (of == nil || c.total > of.total) && s.overlap(rc, c) {
			of = c
		}
	}
	if of == nil || of.verdict.class != schema.CauseSlowHost && of.verdict.class != schema.CauseFailure {
		return v
	}
	rc.failures = append(rc.failures[:0], of.failures...)
	rc.back, rc.centre, rc.drain, rc.neck, rc.full = of.back, of.centre, of.drain, of.neck, of.full
	return of.verdict
}

// overlap reports whether two regions lie on the same ground.
func (s *Stage) overlap(a, b *regionCase) bool {
	if len(a.region.Links) > len(b.region.Links) {
		a, b = b, a
	}
	w := &s.work
	w.groundRound++
	for _, l := range b.region.Links {
		from, to := s.graph.Ends(l)
		w.ground[from], w.ground[to] = w.groundRound, w.groundRound
	}
	n := 0
	for _, l := range a.region.Links {
		if from, to := s.graph.Ends(l); w.ground[from] == w.groundRound || w.ground[to] == w.groundRound {
			n++
		}
	}
	return float64(n) >= sameGround*float64(len(a.region.Links))
}
