package diagnose

import "github.com/giverny/giverny/schema"

// A region of which no beginning is known, as it is older than what is remembered or was there when the first interval came, has no
// evidence by time. What it carries is then all that says whose it is.
//
// explainedStall of the region's stall is on links of the exchange of whom that is, and explainedLoad of what they carry is theirs.
// manyTrees are more slow hosts than there are at once.
const explainedStall, explainedLoad, manyTrees = .9, .8, 3

// explains is what it says for a job that its traffic accounts for a region that has no beginning; on a grid, also for one of many
// trees of held-back traffic that lie before as many switches. 0: it does not.
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

// explainsStanding is the same where links have directions: the jobs near the region account for it, and this one has a part in that.
// If it is the only one there of which no table says what it moves, and those of which one does move too little, it is the rest. What a
// slow link or host holds up is no job's, and a verdict from when the beginning was known knows more.
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
