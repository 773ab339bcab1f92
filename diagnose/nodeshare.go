package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/topology"
)

// brings is the load, bytes/s, that a job adds to the links of a switch of a grid if it moves this much more, exchanged
// among all its nodes.
func (in *interval) brings(end topology.DeviceID, j *job, more float64) (bytes float64) {
	routes := in.routesOf(j)
	for _, l := range in.graph.LinksAt(end) {
		bytes += more * routes.On(l)
	}
	return bytes
}

// isBesideExchange reports whether a job's exchange only passes a switch: no known job has nodes there, or the job's own
// are more than a step away along the line, as neighbours on a line show nearly the same.
func (in *interval) isBesideExchange(j *job, at topology.DeviceID) bool {
	return len(in.tenants[at]) == 0 || !in.hasBeside(j, at)
}

const (
	// Load that a job's exchange would bring to one of its nodes, relative to the load added there: up to leastStarved
	// the node gets more than its share, from surelyStarved less.
	leastStarved, surelyStarved = .6, 1.2
	// The same relative to all that arrives there, if the load before the onset is unknown: part of that is others', or
	// only passes.
	leastDenied, surelyDenied = 1.5, 2
	// Doublings of the load that arrives: from grownMuch on the node takes much in any case, up to grownLittle it may
	// not.
	grownLittle, grownMuch = .75, 1.25
	// starvedFit is the least fit of a tree whose end is known well enough.
	starvedFit = .7
)

// shortfall is how far, 0 to 1, a job's node at the end of a tree of held-back traffic gets less than its share of the
// job's exchange. It gets more if many send to one, and less if it does not take what arrives.
func (g grid) shortfall(e *ends, q *root.Pressure) (most float64) {
	end, known := e.endBeyondLinks()
	if !known || e.drain.Fit < starvedFit {
		return 0
	}
	if !g.load.known && !e.arrives.known {
		return g.denied(e, end, q)
	}
	more := q.ArrivesMore(end)
	if more <= 0 {
		return 0
	}
	little := ramp(e.arrives.doublings(), grownMuch, grownLittle)
	for _, j := range g.in.tenants[end] {
		before := g.baselineOf(j)
		share := g.in.brings(end, j, g.in.perSecond(g.in.recentOf(j).all-before.all*before.ran))
		most = max(most, little*ramp(share/more, leastStarved, surelyStarved))
	}
	return most
}

// denied is the same if what the links carried before is unknown, as the region was there before the data: back
// pressure surely ends at a job's node, and half of its share of the job's exchange or less arrives there. Where many
// send to it, most of what the job moves does.
func (g grid) denied(e *ends, end topology.DeviceID, q *root.Pressure) (most float64) {
	arrives := q.ArrivesInAll(end)
	if e.nodesProbability() < surelyEnds || arrives <= 0 {
		return 0
	}
	for _, j := range g.in.tenants[end] {
		share := g.in.brings(end, j, g.in.perSecond(g.in.recentOf(j).all))
		most = max(most, ramp(share/arrives, leastDenied, surelyDenied))
	}
	return most
}

// overloads reports whether the traffic of a region of a grid ends at a suspect's node that gets clearly more than its
// share of the suspect's exchange: many of its nodes send to one. A slow host gets less.
func (rc *regionCase) overloads(c *suspect) bool {
	end, known := rc.ends.end()
	if !known || !c.known || !c.job.Has(end) {
		return false
	}
	share := rc.in.brings(end, c.job, rc.in.perSecond(rc.in.recentOf(c.job).all))
	return share <= leastStarved*rc.pressure.ArrivesInAll(end)
}

// Back pressure that ends at a switch's nodes with a probability of mayEnd shows nothing on who sends it; from
// surelyEnds on it does.
const mayEnd, surelyEnds = .6, .9

// concentrates reports whether the back pressure of a region of a grid surely ends at a node of a suspect alone, where
// clearly more arrives than before and than its exchange would bring, and it moves as much: what it moved before goes
// to one node, and its total need not grow. Of a suspect for its file traffic only what it reads can arrive there.
func (g grid) concentrates(c *suspect) bool {
	end, known := g.ends.endBeyondLinks()
	if !known || !c.job.Has(end) || g.in.hasOthers(end, c.job) {
		return false
	}
	if g.ends.nodesProbability() < surelyEnds || g.ends.arrives.doublings() < surelyMore || !g.overloads(c) {
		return false
	}
	recent := g.in.recentOf(c.job)
	moves := recent.all
	if c.file && c.filesKnown {
		if moves = recent.files; g.in.written(c.job) >= moves {
			return false
		}
	}
	return g.in.perSecond(moves) >= addedEnough*g.averaged(g.pressure).ArrivesMore(end)
}
