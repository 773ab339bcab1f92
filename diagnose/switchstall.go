package diagnose

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// sameGround is the share of the smaller region's links that must have an end at a switch of the other region for both
// to have one cause.
const sameGround = .5

// takeOver gives a region of stall inside switches the place where the credit-stalled region around it ends, if both
// have the same cause: packets wait inside the switches before stalled links too, beside the tree that shows where it
// ends. If a host or a failure holds that back, its verdict is that of both: a job whose traffic is among them is held
// back, whatever its load was before.
func (rc *regionCase) takeOver(cases []regionCase) {
	if rc.region.Metric != schema.InqStall || !rc.in.graph.Duplex() {
		return
	}
	of := rc.around(cases)
	switch {
	case of == nil:
		return
	case of.verdict.class == schema.CauseSlowHost || of.verdict.class == schema.CauseFailure:
		rc.failures = append(rc.failures[:0], of.failures...)
		rc.verdict = of.verdict
	case !rc.hasCauseOf(of):
		return
	}
	rc.back, rc.ends, rc.nodes = of.back, of.ends, of.nodes
}

// hasCauseOf reports whether two regions have verdicts of the same class that accuse the same job first, or none.
func (rc *regionCase) hasCauseOf(of *regionCase) bool {
	a, b := rc.verdict.accused > 0, of.verdict.accused > 0
	return rc.verdict.class == of.verdict.class && a == b && (!a || rc.suspects[0].job == of.suspects[0].job)
}

// shared counts what two regions have in common: the links of each with an end at a switch of the other.
type shared struct {
	round        uint32
	mine, theirs int
	last         schema.LinkID // last one counted into mine
}

// around returns the credit-stalled region with the most stall among those on the same ground as a region and at least
// as severe; nil: none.
func (rc *regionCase) around(cases []regionCase) (of *regionCase) {
	w := &rc.in.overlap
	for _, i := range rc.beside(cases) {
		c, with := &cases[i], &w.shared[i]
		n, all := with.mine, len(rc.region.Links)
		if len(c.region.Links) < all {
			n, all = with.theirs, len(c.region.Links)
		}
		if c.region.Metric == schema.CreditStall && c.region.Severity >= rc.region.Severity &&
			float64(n) >= sameGround*float64(all) && (of == nil || c.totalWeight > of.totalWeight) {
			of = c
		}
	}
	return of
}

// beside lists the cases whose regions have a switch in common with a region, and counts what they share. It visits
// only links beside the region's own, however many regions there are.
func (rc *regionCase) beside(cases []regionCase) []int32 {
	w := &rc.in.overlap
	w.next(len(cases))
	for _, own := range rc.region.Links {
		from, to := rc.in.graph.Ends(own)
		for _, d := range [2]topology.DeviceID{from, to} {
			for _, l := range rc.in.graph.LinksAt(d) {
				first := w.links.Add(l)
				for at := range rc.in.memberships.regions.Of(l) {
					w.share(at.region, own, first)
				}
			}
		}
	}
	return w.beside
}

// overlap is what one region has in common with the others.
type overlap struct {
	round  uint32
	links  scratch.Marks[schema.LinkID] // with a switch in common with the region
	shared []shared                     // by case: with the region of the round
	beside []int32                      // the cases with any
}

// next clears what the previous region shared with others.
func (w *overlap) next(cases int) {
	w.links.Clear()
	if w.round++; w.round == 0 {
		clear(w.shared)
		w.round = 1
	}
	w.beside = w.beside[:0]
	for len(w.shared) < cases {
		w.shared = append(w.shared, shared{})
	}
}

// share records that a link of another region has a switch in common with link own of the region; first is whether the
// other region's link is new.
func (w *overlap) share(other int32, own schema.LinkID, first bool) {
	with := &w.shared[other]
	if with.round != w.round {
		*with = shared{round: w.round, last: schema.NoLink}
		w.beside = append(w.beside, other)
	}
	if with.last != own {
		with.mine, with.last = with.mine+1, own
	}
	if first {
		with.theirs++
	}
}
