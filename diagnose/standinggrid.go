package diagnose

import "github.com/giverny/giverny/schema"

// unmeasuredLoad is the most that the jobs of which a table says what they move may account for, for the rest to be one's of which none
// does.
const unmeasuredLoad = .2

// explainsOnGrid is what explains is where links have no direction: a job accounts for the region alone, on its own ground; or one that
// always stood is its jobs', as far as their traffic accounts for it, or the one's on whose own ground it lies if no table says what
// that moves. A single tree of held-back traffic may be a slow host's, and a verdict from when the beginning was known knows more.
func (s *Stage) explainsOnGrid(rc *regionCase, c *suspect) float64 {
	stands := rc.onset < 0 && !rc.drain.IsCertain()
	if !stands && rc.trees < manyTrees {
		return 0
	}
	measured, onOwn := c.known && s.work.comparable, c.cross >= explainedStall && rc.ground(s, c.job) >= ownGround
	if measured && onOwn && c.burden >= explainedLoad {
		return jobExplains
	}
	if h := s.kept[rc.region.ID]; !stands || h != nil && h.cause.Class != schema.CauseUnknown {
		return 0
	}
	burden, cross := 0., 0.
	for i := range rc.jobs {
		burden, cross = burden+rc.jobs[i].burden, cross+rc.jobs[i].cross
	}
	switch {
	case measured && c.burden >= culpritShare && burden >= explainedLoad && cross >= explainedStall:
		return jobExplains
	case !c.known && onOwn && burden <= unmeasuredLoad:
		return jobRemains
	}
	return 0
}
