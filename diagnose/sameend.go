package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// shareEnds lets regions of a grid that are parts of one tree have one end: back pressure reaches far, and what stalls far
// from its end does not show where that is. A region without a root of its own takes the best known one of those that
// touch it and began with it, if most of what it holds back is on links that a tree to there has.
func (s *Stage) shareEnds(cases []regionCase, within bool, p *root.Pressure, snap *schema.Snapshot) {
	if s.router.Grid == nil || !s.graph.Duplex() {
		return
	}
	for i := range cases {
		rc := &cases[i]
		if within != (rc.region.Metric == schema.InqStall) || rc.onset < 0 || rc.drain.IsRoot() || rc.neck.Before(&rc.drain) {
			continue
		}
		p.Stall = snap.Find(rc.region.Metric)
		var best *regionCase
		beside := s.beside(rc, cases)
		slices.Sort(beside)
		for _, j := range beside {
			if o := &cases[j]; o.hasEnd(rc) && (best == nil || o.drain.Fit > best.drain.Fit) && p.LeadsTo(rc.region.Links, o.drain.Device) {
				best = o
			}
		}
		if best != nil {
			rc.drain, rc.sender, rc.flooded, rc.arrives, rc.shared = best.drain, best.sender, best.flooded, best.arrives, true
		}
	}
}

// hasEnd reports whether the end of a region's tree is known by itself and may be that of another region, which began with
// it.
func (rc *regionCase) hasEnd(other *regionCase) bool {
	apart := rc.onset - other.onset
	return rc.region.Metric == other.region.Metric && rc.onset >= 0 && max(apart, -apart) <= settle && !rc.shared && rc.drain.IsRoot() && !rc.neck.Before(&rc.drain)
}
