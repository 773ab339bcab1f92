package diagnose

import "github.com/giverny/giverny/schema"

// A region without an onset, older than what is remembered or present in the first interval, has no evidence by time. Only its load
// tells whose it is.
//
// explainedStall of the region's stall must be on links of the exchange of those to blame, and explainedLoad of its load
// theirs. manyTrees slow hosts at once are implausible.
const explainedStall, explainedLoad, manyTrees = .9, .8, 3

// explains is the score of a job whose traffic accounts for a region without an onset; on a grid, also for one of many trees of
// held-back traffic that lead to as many switches. 0: it does not.
func (s *Stage) explains(rc *regionCase, c *suspect) float64 {
	switch {
	case !s.work.loads:
		return 0
	case s.graph.Duplex():
		return s.explainsOnGrid(rc, c)
	case s.work.comparable:
		return s.explainsStanding(rc, c)
	}
	return 0
}

// explainsStanding is explains for directed links: the jobs near the region account for it, and this one has a part. If it is the
// only one there without traffic data, and the others move too little, it is the rest. What a slow link or host holds up is no
// job's, and a kept verdict from when the onset was known knows more.
func (s *Stage) explainsStanding(rc *regionCase, c *suspect) float64 {
	if h := s.kept[rc.region.ID]; rc.onset >= 0 || rc.back.Cannot || rc.back.Kind == schema.RootSlowReceiver || h != nil && h.cause.Class != schema.CauseUnknown {
		return 0
	}
	burden, cross, unmeasured := 0., 0., 0
	for i := range rc.jobs {
		o := &rc.jobs[i]
		burden, cross = burden+o.burden, cross+o.cross
		if !o.known && o.cross > 0 {
			unmeasured++
		}
	}
	switch {
	case c.known && c.burden >= culpritShare && burden >= explainedLoad && cross >= explainedStall:
		return jobExplains
	case !c.known && unmeasured == 1 && c.cross >= explainedStall && burden <= 1-explainedLoad:
		return jobRemains
	}
	return 0
}
