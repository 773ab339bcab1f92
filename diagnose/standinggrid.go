package diagnose

import "github.com/giverny/giverny/schema"

// unmeasuredLoad is the most that the jobs of which a table says what they move may account for, for the rest to be one's of which none
// does.
const unmeasuredLoad = .2

// explainsOnGrid is what explains is where links have no direction. A single tree of held-back traffic may be a slow host's.
func (s *Stage) explainsOnGrid(rc *regionCase, c *suspect) float64 {
	onOwn := c.cross >= explainedStall && rc.ground(s, c.job) >= ownGround
	measured, stands := c.known && s.work.comparable, rc.onset < 0 && !rc.drain.IsCertain()
	if measured && onOwn && c.burden >= explainedLoad && (stands || rc.trees >= manyTrees) {
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
