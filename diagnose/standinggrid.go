package diagnose

import "github.com/giverny/giverny/schema"

// unmeasuredLoad is the highest share that jobs with traffic data may account for if the rest is attributed to one without.
const unmeasuredLoad = .2

// explainsOnGrid is explains for links without direction: a job accounts for the region alone, on its own ground; or a region
// without an onset is its jobs' as far as their traffic accounts for it, or that of the job on whose own ground it lies, if it has
// no traffic data. A single tree of held-back traffic may be a slow host's, and a kept verdict from when the onset was known knows
// more.
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
