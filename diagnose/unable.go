package diagnose

// culpritShare of what the root carries is what a culprit moves at least; with enoughShare nothing speaks against
// it any more. Where links have directions routes bound what a job can have put there, so that less is enough: of jobs that
// contend for a port each gets a part.
const culpritShare, enoughShare, enoughBound = .25, .5, .35

// unable is what the traffic of a suspect says against it that is too little for what the root carries, or grew
// by too little: a coincidence in time is none of a cause. Where load was added on a grid, full buffers hold up the culprit's
// own traffic elsewhere, so that all that it moves need not grow.
func (s *Stage) unable(rc *regionCase, c *suspect, p *pressure) float64 {
	if !c.known || rc.carries <= 0 {
		return 0
	}
	all, files := s.lately(c.job)
	was, filesWas := s.earlier(rc, c.job)
	if c.file && c.filesKnown {
		all, was = files, filesWas
	}
	interval := float64(s.clock.duration) / 1e9
	enough := enoughShare
	if most := s.boundOn(c.job, rc.fullest, c.file || !c.filesKnown, p); most.known {
		enough = enoughBound
		all, was = min(all, most.now*interval), min(was, most.before*interval)
	}
	short := func(bytes, of float64) float64 {
		return min(1, max(0, (enough-bytes/interval/of)/(enough-culpritShare)))
	}
	against := jobTooLittle * short(all, rc.carries)
	if rc.more > grownShare*rc.carries && !(s.graph.Duplex() && rc.flooded) {
		against = max(against, jobGrewTooLittle*short(all-was, rc.more))
	}
	return against
}
