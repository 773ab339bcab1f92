package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
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
	of := s.around(rc, cases)
	if of == nil || of.verdict.class != schema.CauseSlowHost && of.verdict.class != schema.CauseFailure {
		return v
	}
	rc.failures = append(rc.failures[:0], of.failures...)
	rc.back, rc.drain, rc.sender, rc.neck, rc.full, rc.endings = of.back, of.drain, of.sender, of.neck, of.full, of.endings
	return of.verdict
}

// shared is what a region has in common with another: links with an end at a switch of the other's, and the other's links
// with an end at one of its own.
type shared struct {
	round        uint32
	mine, theirs int
	last         schema.LinkID // that counted into mine
}

// around is, of the regions of links that stall for credits on the same ground as a region and are as severe, the one with
// most stall.
func (s *Stage) around(rc *regionCase, cases []regionCase) (of *regionCase) {
	w := &s.work
	for _, i := range s.beside(rc, cases) {
		c, with := &cases[i], &w.shared[i]
		n, all := with.mine, len(rc.region.Links)
		if len(c.region.Links) < all {
			n, all = with.theirs, len(c.region.Links)
		}
		if c.region.Metric == schema.CreditStall && c.region.Severity >= rc.region.Severity && float64(n) >= sameGround*float64(all) && (of == nil || c.total > of.total) {
			of = c
		}
	}
	return of
}

// beside lists the cases of regions that have a switch in common with a region, and finds what they share. It looks at the links
// beside the region's own only, however many regions there are.
func (s *Stage) beside(rc *regionCase, cases []regionCase) []int32 {
	w := &s.work
	w.newGround(len(cases))
	for _, own := range rc.region.Links {
		from, to := s.graph.Ends(own)
		for _, d := range [2]topology.DeviceID{from, to} {
			for _, l := range s.graph.LinksAt(d) {
				first := w.grounds[l] != w.groundRound
				w.grounds[l] = w.groundRound
				for _, at := range w.of(l) {
					w.share(at.cas, own, first)
				}
			}
		}
	}
	return w.beside
}

// newGround forgets what the region before had in common with others.
func (w *work) newGround(cases int) {
	if w.groundRound++; w.groundRound == 0 {
		clear(w.grounds)
		clear(w.shared)
		w.groundRound = 1
	}
	w.beside = w.beside[:0]
	for len(w.shared) < cases {
		w.shared = append(w.shared, shared{})
	}
}

// share notes that a link of another region has a switch in common with a link of the region; first is whether the other
// region's link was not seen yet.
func (w *work) share(other int32, own schema.LinkID, first bool) {
	with := &w.shared[other]
	if with.round != w.groundRound {
		*with = shared{round: w.groundRound, last: schema.NoLink}
		w.beside = append(w.beside, other)
	}
	if with.last != own {
		with.mine, with.last = with.mine+1, own
	}
	if first {
		with.theirs++
	}
}
