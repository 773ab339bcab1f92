package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// culpritShare of what the root carries is what a culprit moves at least; with enoughShare nothing speaks against
// it any more. Where links have directions routes bound what a job can have put there, so that less is enough: of jobs that
// contend for a port each gets a part.
const culpritShare, enoughShare, enoughBound = .25, .5, .35

// unable is what the traffic of a suspect says against it that is too little for what the root carries, or grew
// by too little: a coincidence in time is none of a cause.
func (s *Stage) unable(rc *regionCase, c *suspect, p *root.Pressure) float64 {
	if !c.known || rc.carries <= 0 {
		return 0
	}
	all, files := s.lately(c.job)
	was, filesWas := s.earlier(rc, c.job)
	if c.file && c.filesKnown {
		all, was = files, filesWas
	}
	interval := float64(s.clock.duration) / 1e9
	if end, known := rc.end(); known && s.graph.Duplex() {
		grew := all - was*c.job.was.ran // links were compared with the mean of all slots
		switch {
		case rc.full != schema.NoLink && (c.file || s.routesOf(c.job).On(rc.full) > 0): // the region does not end at the switch
			more, _ := s.averaged(rc, p).Added(rc.full)
			return addsTooLittle(grew/interval, more)
		case s.endsAtOwn(rc, c): // it may be held up elsewhere by what it sends there, so that all that it moves need not grow
			grew = all
		case !c.file && s.endsBeside(rc, c.job):
			passes, _ := s.brings(rc, c.job, grew)
			grew = min(grew, passes)
		}
		return addsTooLittle(grew/interval, s.averaged(rc, p).ArrivesMore(end))
	}
	least, enough := culpritShare, enoughShare
	if most := s.boundOn(c.job, rc.fullest, c.file || !c.filesKnown, p); most.known {
		enough = enoughBound
		all, was = min(all, most.now*interval), min(was, most.before*interval)
	}
	if c.file && s.endsAtNoJob(rc) {
		least, enough = addedShare, addedEnough
	}
	short := func(bytes, of float64) float64 {
		return min(1, max(0, (enough-bytes/interval/of)/(enough-least)))
	}
	against := jobTooLittle * short(all, rc.carries)
	if rc.more > grownShare*rc.carries {
		against = max(against, jobGrewTooLittle*short(all-was, rc.more))
	}
	return against
}

// addedShare of what more arrives where the traffic of a region of a grid ends is what a culprit's traffic grew by at least; with
// addedEnough nothing speaks against it any more.
const addedShare, addedEnough = .4, .75

// addsTooLittle is what speaks against a suspect that may have added some bytes/s where a region of a grid ends at a known
// switch, and more arrive: that these are more than it can explain.
func addsTooLittle(adds, more float64) float64 {
	if more <= 0 {
		return 0
	}
	return jobTooLittle * min(1, max(0, (addedEnough-adds/more)/(addedEnough-addedShare)))
}

// receives reports whether the root is the full port to a host of a job's alone, and the job moves enough to fill it: what arrives
// there is the job's, though all that it moves need not have grown, as its other traffic is held up.
func (s *Stage) receives(rc *regionCase, c *suspect) bool {
	if rc.back.Kind != schema.RootIncast || !c.known || rc.more <= grownShare*rc.carries {
		return false
	}
	_, host := s.graph.Ends(rc.back.Link)
	if !c.job.has(host) || s.strangers(host, c.job) {
		return false
	}
	all, _ := s.lately(c.job)
	return all*1e9/float64(s.clock.duration) >= enoughShare*rc.carries
}

// endsAtNoJob reports whether the root is the full port to a host of no job: what arrives there is traffic with files, of any job.
func (s *Stage) endsAtNoJob(rc *regionCase) bool {
	if rc.back.Kind != schema.RootIncast {
		return false
	}
	_, host := s.graph.Ends(rc.back.Link)
	return !s.graph.IsSwitch(host) && len(s.work.tenants[host]) == 0
}
