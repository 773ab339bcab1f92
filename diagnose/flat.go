package diagnose

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// flatIntervals since the onset, at least, show that what a link carries does not vary: by flatShare of it, and by no more
	// than flatSteps, percent of its capacity, in which loads are remembered. flatUse is the least that it carries, percent: of
	// what lanes there are one in eight is left.
	flatIntervals, flatShare, flatSteps, flatUse = 4, .02, .2, 10
)

// flatNeck is the link of a grid that lost rate by what it carries: as packets always wait for it, that is its rate, and the
// same in all intervals since the onset. Links that stall lead to it, and nothing that these may wait for stalls. Of several
// it is the one that lost most.
func (s *Stage) flatNeck(rc *regionCase, p *pressure) neck {
	t, best, most := s.router.grid, neck{link: schema.NoLink}, 0.
	for _, l := range rc.region.Links {
		if t.keys[l].dim < 0 || p.stallOf(l) < endStall {
			continue
		}
		from, to := s.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			for _, out := range s.graph.LinksAt(via) {
				lost := t.lostOn(out, p)
				if out == l || t.keys[out].dim < t.keys[l].dim || lost <= most || p.useOf(out) < flatUse || p.left(out) >= clearlyLess || !t.stallEndsAt(l, via, p) || !s.isFlat(rc, out) {
					continue
				}
				most = lost
				best = neck{link: out, tail: via, waits: p.waitsFor(out), lost: 1 - p.left(out), slower: true, cannot: true, sole: true}
			}
		}
	}
	return best
}

// stallEndsAt reports whether nothing stalls that what a link brings to a switch may wait for.
func (t *gridLinks) stallEndsAt(l schema.LinkID, via topology.DeviceID, p *pressure) bool {
	for _, out := range t.graph.LinksAt(via) {
		if out != l && t.keys[out].dim >= t.keys[l].dim && p.stallOf(out) > neckStall {
			return false
		}
	}
	return true
}

// isFlat reports whether a link carried the same in the last intervals since the onset of a region.
func (s *Stage) isFlat(rc *regionCase, l schema.LinkID) bool {
	use := s.memory.metrics[schema.BandwidthUsed]
	if use == nil || rc.onset < 0 {
		return false
	}
	n, sum, squares := 0., 0., 0.
	for slot := s.clock.now - int64(min(endIntervals, len(rc.stall)-rc.onset-1)) + 1; slot <= s.clock.now; slot++ {
		if v := use.row(slot)[l]; v != levelMissing {
			v := float64(v) / levelsPerPercent
			n, sum, squares = n+1, sum+v, squares+v*v
		}
	}
	if n < flatIntervals {
		return false
	}
	mean := sum / n
	return math.Sqrt(max(0, squares/n-mean*mean)) <= max(flatShare*mean, flatSteps)
}
