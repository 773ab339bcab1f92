package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// brings is what a job adds to the links of the switch where the traffic of a region of a grid ends if some bytes/s more that it moves
// are exchanged between all its nodes; known tells whether that switch is.
func (s *Stage) brings(rc *regionCase, j *job, more float64) (bytes float64, known bool) {
	end, known := rc.end()
	if !known || !s.graph.Duplex() {
		return 0, false
	}
	routes := s.routesOf(j)
	for _, l := range s.graph.LinksAt(end) {
		bytes += more * routes.On(l)
	}
	return bytes, true
}

// endsBeside reports whether the traffic of a region ends at a switch at which a job has no node, so that its exchange passes there
// but does not end: at nodes of no known job, or farther than a step along the line from one of its own, as neighbours on a line
// show nearly the same.
func (s *Stage) endsBeside(rc *regionCase, j *job) bool {
	end, known := rc.end()
	if !known || s.router.Grid == nil {
		return false
	}
	return len(s.work.tenants[end]) == 0 || !s.hasBeside(j, end)
}

const (
	// What the exchange of a job would bring to a node of its own, of what more arrives there: up to leastStarved the node gets more than
	// its share, from surelyStarved on less.
	leastStarved, surelyStarved = .6, 1.2
	// Where what arrives doubled so often the node takes much in any case: not up to grownLittle, surely from grownMuch on.
	grownLittle, grownMuch = .75, 1.25
	// starvedFit is the least fit of a tree for its end to be known well enough.
	starvedFit = .7
)

// starves is how far, 0 to 1, a node of a job at which a tree of held-back traffic ends gets less than its share of the job's
// exchange. More than a share arrives where many send to one; less where the node does not take what arrives.
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
	for _, j := range s.work.tenants[end] {
		all, _ := s.lately(j)
		was, _ := s.earlier(rc, j)
		share, _ := s.brings(rc, j, (all-was*j.was.ran)*1e9/float64(s.clock.duration))
		most = max(most, little*min(1, (share/more-leastStarved)/(surelyStarved-leastStarved)))
	}
	return most
}
