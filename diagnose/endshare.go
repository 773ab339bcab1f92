package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// brings is the load, bytes/s, that a job adds to the links of the switch where the traffic of a region of a grid ends if it moves
// this much more, exchanged among all its nodes; 0 if that switch is not known.
func (s *Stage) brings(rc *regionCase, j *job, more float64) (bytes float64) {
	end, known := rc.end()
	if !known || !s.graph.Duplex() {
		return 0
	}
	routes := s.routesOf(j)
	for _, l := range s.graph.LinksAt(end) {
		bytes += more * routes.On(l)
	}
	return bytes
}

// endsBeside reports whether a region's traffic ends at a switch that a job's exchange only passes: no known job has nodes there,
// or the job's own are more than a step away along the line, as neighbours on a line show nearly the same.
func (s *Stage) endsBeside(rc *regionCase, j *job) bool {
	end, known := rc.end()
	if !known || s.router.Grid == nil {
		return false
	}
	return len(s.tenants[end]) == 0 || !s.hasBeside(j, end)
}

const (
	// Load that a job's exchange would bring to one of its nodes, relative to the load added there: up to leastStarved the node gets more
	// than its share, from surelyStarved less.
	leastStarved, surelyStarved = .6, 1.2
	// Doublings of the load that arrives: from grownMuch on the node takes much in any case, up to grownLittle it may not.
	grownLittle, grownMuch = .75, 1.25
	// starvedFit is the least fit of a tree whose end is known well enough.
	starvedFit = .7
)

// starves is how far, 0 to 1, a job's node at the end of a tree of held-back traffic gets less than its share of the job's
// exchange. It gets more if many send to one, and less if it does not take what arrives.
func (s *Stage) starves(rc *regionCase, p *root.Pressure) (most float64) {
	end, known := rc.end()
	if !known || rc.drain.Fit < starvedFit || rc.full != schema.NoLink || rc.onset < 0 {
		return 0
	}
	more := p.ArrivesMore(end)
	if more <= 0 {
		return 0
	}
	little := max(0, min(1, (grownMuch-doublings(rc.arrives))/(grownMuch-grownLittle)))
	for _, j := range s.tenants[end] {
		all, _ := s.lately(j)
		was, _ := s.earlier(rc, j)
		share := s.brings(rc, j, (all-was*j.was.ran)*1e9/float64(s.history.Clock.Duration))
		most = max(most, little*min(1, (share/more-leastStarved)/(surelyStarved-leastStarved)))
	}
	return most
}

// overloads reports whether the traffic of a region of a grid ends at a suspect's node that gets clearly more than its share of the
// suspect's exchange: many of its nodes send to one. A slow host gets less.
func (s *Stage) overloads(rc *regionCase, c *suspect) bool {
	end, known := rc.end()
	if !known || !c.known || !c.job.Has(end) {
		return false
	}
	all, _ := s.lately(c.job)
	share := s.brings(rc, c.job, all*1e9/float64(s.history.Clock.Duration))
	arrives := 0.
	for _, l := range s.graph.LinksAt(end) {
		arrives += s.p.Carries(l)
	}
	return share <= leastStarved*arrives
}
