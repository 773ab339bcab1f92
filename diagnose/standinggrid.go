package diagnose

import "github.com/giverny/giverny/schema"

// unmeasuredLoad is the highest share that jobs with traffic data may account for, for the rest to be attributed to one without.
const unmeasuredLoad = .2

// explainsOnGrid is explains for links without direction. Either the job alone accounts for the region, on its own ground; or the
// region has no onset, and its jobs' traffic accounts for it, or it lies on the own ground of a job without traffic data. A single
// tree of held-back traffic may be a slow host's, and a kept verdict from when the onset was known has better evidence.
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
