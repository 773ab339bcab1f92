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
	grid, best, most := s.router.Grid, neck{link: schema.NoLink}, 0.
	for _, l := range rc.region.Links {
		if grid.Dim(l) < 0 || p.stallOf(l) < endStall {
			continue
		}
		from, to := s.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			for _, out := range s.graph.LinksAt(via) {
				lost := p.lostOn(out)
				if out == l || grid.Dim(out) < grid.Dim(l) || lost <= most || p.useOf(out) < flatUse || p.left(out) >= clearlyLess || !p.stallEndsAt(l, via) || !s.isFlat(rc, out) {
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
func (p *pressure) stallEndsAt(l schema.LinkID, via topology.DeviceID) bool {
	for _, out := range p.graph.LinksAt(via) {
		if out != l && p.grid.Dim(out) >= p.grid.Dim(l) && p.stallOf(out) > neckStall {
			return false
		}
	}
	return true
}

// isFlat reports whether a link carried the same in the last intervals since the onset of a region.
func (s *Stage) isFlat(rc *regionCase, l schema.LinkID) bool {
	use := s.memory.metrics[schema.BandwidthUsed]
	if use == nil || rc.again < 0 {
		return false
	}
	n, sum, squares := 0., 0., 0.
	for slot := s.clock.now - int64(min(endIntervals, len(rc.stall)-rc.again-1)) + 1; slot <= s.clock.now; slot++ {
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
