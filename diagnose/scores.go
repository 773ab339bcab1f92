package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// The scores of causes are log odds against the cause being unknown: a bias and what each number adds. They
// were chosen on incidents with truth (package bench).
const (
	jobBias          = -6.
	jobSpace         = 2.5 // the region's stall where its traffic can be
	jobFit           = 3.  // correlation
	jobRise          = 2.5 // at the onset
	jobStarted       = 1.
	jobGrowth        = 2.  // of what was added to it
	jobElsewhere     = 2.5 // back pressure begins where its exchange does not go
	jobTooLittle     = 6.  // it moves less than a culprit must to fill the port at which back pressure begins
	jobGrewTooLittle = 3.  // what it moves grew by less than the port's traffic did
	jobAstray        = 4.  // what was added to the region lies where its exchange does not go
	jobUnmeasured    = 4.  // that it began with the onset, where nothing else is known of it
	jobConverges     = 5.  // what was added is a tree of its nodes' routes, or all that they exchange, and no table says what it moved
	jobReceives      = 3.  // the full port leads to a host of its alone, and it moves enough to fill that
	jobExplains      = 3.5 // what the region carries and always carried is its exchange, or in part
	jobRemains       = 5.  // it always stalled, and this is the one job of which no table says what it moves
	jobReads         = 2.5 // its traffic with files stands out and goes with the stall over the whole window
	jobOutlying      = 1.5
	jobBurden        = 1.5
	jobRose          = 1. // the load on the region rose, by what it is its burden of that
	failureBias      = -4.
	failureOnset     = 4.5
	failureNear      = 2.5
	failureMoved     = 2.5 // what it carried is what was added to the full link
	slowLinkFell     = 2.  // a link that carries less than before while others wait for it
	slowLinkLost     = 4.  // by what more than that it lost
	slowLinkMeasured = 12. // others wait for it and it sends less than it could: no job explains that
	restoredShare    = .25 // what comes back seldom congests
	hostShare        = .15 // nor does the link of a host, a host, or a link that was idle: nothing passes through it

	// The way between a job and others counts less where its traffic with files is measured and does not stand
	// out, or is not measured.
	wayWithoutFiles, wayUnknown = .25, .7
	// Load on the region that fell at its onset, or rose, speaks against jobs, or against what is broken.
	fallen, risen, loadFell, loadRose, mostRose = .95, 1.15, 1.5, 1.5, 4.
	// Where a port to a host is full, load is the cause.
	incastLoad = 2.
)

// mostScore bounds the score that a suspect can reach whatever its traffic did: below 0 it cannot be accused,
// and evidence by time is not looked for.
func (c *suspect) mostScore() float64 {
	space := max(c.cross, .9*min(1, c.gate), c.way)
	switch {
	case c.file && c.filesKnown: // all of it may be seen on its way, or end at a node of its files
		space = 1
	case c.root:
		space = max(space, .9)
	}
	return jobBias + jobSpace*space + (jobFit+jobRise+jobOutlying)*(.3+.7*min(1, 2*space)) + (jobBurden+jobRose)*c.burden + jobGrowth*c.growth
}

// rate scores a suspect. What its traffic did counts as far as there is a way from it to the region.
func (s *Stage) rate(rc *regionCase, c *suspect, p *root.Pressure) {
	way := c.way
	switch {
	case c.file:
	case c.filesKnown:
		way *= wayWithoutFiles
	default:
		way *= wayUnknown
	}
	if seen, known := s.seenOnWay(rc, c, p); known {
		way = seen
	}
	space := max(c.cross, .9*min(1, c.gate), way)
	if c.root || c.file && c.filesKnown && s.endsAtNoJob(rc) {
		space = max(space, .9)
	}
	fit := c.Fit()
	if c.started {
		fit *= .3 // its beginning is one coincidence, not two
	}
	time := jobFit*fit + jobRise*c.rise + jobOutlying*outlying(c.devs)*(.3+.7*min(1, c.strength()))
	succeeds := s.succeeds(rc, c.job)
	if succeeds {
		time += jobStarted + jobRise*c.growth
	}
	if c.started {
		time += jobStarted
		if !c.known {
			time += jobUnmeasured
		}
	}
	c.score = jobBias + jobSpace*space + time*(.3+.7*min(1, 2*space)) + jobBurden*c.burden + jobGrowth*c.growth*rc.grown(s.graph.Duplex())*(1-rc.moved)
	switch explains := s.explains(rc, c); {
	case explains > 0:
		c.score += explains
	case rc.load > 0 && rc.load < fallen && !rc.flooded && !rc.fuller():
		c.score -= loadFell
	}
	if c.surelyReads() {
		c.score += jobReads
	}
	if rc.back.Kind != "" && rc.back.Kind != schema.RootDeadlock && !c.root && !c.file && (c.filesKnown || !s.endsAtNoJob(rc)) {
		c.score -= jobElsewhere
	}
	switch {
	case !succeeds && s.foundStalled(rc, c.job.Start),
		rc.excludes(c) && rc.sender == nil: // somebody's who is in no table, whatever this job moved
		c.score = math.Inf(-1)
		return
	case rc.excludes(c), s.meetsElsewhere(rc, c):
		c.score -= jobElsewhere
	case c.job == rc.sender && rc.drain.Grew && rc.drain.IsCertain() && !c.known:
		c.score += jobConverges
	case !c.known && s.loadsAll(rc, c, p):
		c.score += jobConverges
	case s.endsAtOwn(rc, c):
		c.score += rc.holdsItselfUp(c)
	case s.receives(rc, c):
		c.score += jobReceives
	}
	c.score -= s.unable(rc, c, p) + s.astray(rc, c, p)
	c.score += jobRose * min(1, rc.rose()) * c.burden * (1 - rc.moved)
}

// Of a job that surely reads or writes what stalls the region: how far its traffic stands out, how well it goes with the
// stall, and how seldom a shifted series does as well.
const readsDeviations, readsCorrelation, readsP = 4, .8, .02

func (c *suspect) surelyReads() bool {
	return c.file && c.devs >= readsDeviations && c.Correlation >= readsCorrelation && c.P <= readsP
}

// grownShare of what a root carries must have been added since the onset for its growth to say something.
const grownShare = .2

// fuller reports whether the root of directed links carries more than before the onset: load was added there, and what leads
// to it may carry less, as back pressure holds it up.
func (rc *regionCase) fuller() bool {
	return rc.back.Kind == schema.RootIncast && rc.more > grownShare*rc.carries
}

// endsAtOwn reports whether what was added to a region of a grid is a tree of a job's nodes that ends at one of them. Such
// a job holds itself up: all that it moves may have fallen with the onset, as a victim's does, while what arrives at that
// node has grown.
func (s *Stage) endsAtOwn(rc *regionCase, c *suspect) bool {
	d := &rc.drain
	sends, onOwn := c.job == rc.sender && d.IsRoot(), !c.file && c.cross >= explainedStall
	if !rc.flooded || !sends && !onOwn {
		return false
	}
	if rc.endsAtNodes() {
		return c.job.has(rc.endings.Any.Device)
	}
	return sends && (c.job.has(d.Device) || d.Fit >= exactFit && s.hasBeside(c.job, d.Device)) ||
		onOwn && d.Meeting.IsKnown() && d.Meeting.Grew && c.job.has(d.Meeting.Device)
}

// Of how often what arrives where a region of a grid ends doubled, up to surelyNot says nothing of load that was added, surelyMore is sure.
const surelyNot, surelyMore = .1, .4

// unmoved is what a tree to a job's node says for it where its traffic neither rose with the stall nor goes with it, of what it
// says from a strength of moving on. Where something always waits, full buffers hold up what it moves.
const unmoved, moving = .4, .5

// holdsItselfUp is what that says for a job, as far as it is sure that more arrives there, and unless the load came from what
// failed: the nodes of a large job are all around, so that a tree of others' looks like its own.
func (rc *regionCase) holdsItselfUp(c *suspect) float64 {
	sure := max(0, min(1, (doublings(rc.arrives)-surelyNot)/(surelyMore-surelyNot)))
	moves := 1.
	if rc.drain.Idle {
		moves = min(1, c.strength()/moving)
	}
	return (jobConverges*(unmoved+(1-unmoved)*moves) + jobRise*(1-c.rise)*moves) * (1 - rc.moved) * (1 - rc.starved) * sure
}

// Of a job that loads a region of a grid by its exchange: loadedWays of what that puts on links is where leastUse of the capacity
// was added since the onset and, without a table of traffic, ownRegion of the region's stall is on links of it.
// ownGround of its links have no node of others.
const ownRegion, loadedWays, ownGround = .9, .5, .7

// loadsAll reports whether what was added since the onset is all over the links on which a job's nodes exchange, and the
// region lies on these alone and not among the nodes of others: what crosses a job's ground, or converges within it, loads
// few of its links.
func (s *Stage) loadsAll(rc *regionCase, c *suspect, p *root.Pressure) bool {
	if !s.graph.Duplex() || c.cross < ownRegion || rc.load <= risen || rc.ground(s, c.job) < ownGround {
		return false
	}
	return s.loadsExchange(c.job, p)
}

// loadsExchange reports whether load was added since the onset on most of what a job's exchange uses: a tree of its nodes to one
// of them has a small part of that.
func (s *Stage) loadsExchange(j *job, p *root.Pressure) bool {
	if j.loads.known && j.loads.round == s.work.past.round {
		return j.loads.most
	}
	r, loaded := s.routesOf(j), 0.
	for i, l := range r.Links {
		if p.UseOf(l)-max(0, p.Before(l)) >= root.LeastUse {
			loaded += float64(r.Load[i])
		}
	}
	j.loads = exchangeLoad{true, s.work.past.round, loaded >= loadedWays*r.Total}
	return j.loads.most
}

// Of what was added to a region of a grid, ownAdded lies on links of a culprit's own exchange; where only strayAdded does,
// nothing more can speak against a job.
const ownAdded, strayAdded = .9, .7

// astray is what speaks against a job where load was added to a region of a grid on links to which its own exchange does not
// go: back pressure reaches such links too, but they carry less then and not more. Traffic with files goes elsewhere.
func (s *Stage) astray(rc *regionCase, c *suspect, p *root.Pressure) float64 {
	if !s.graph.Duplex() || c.file || !c.known || rc.load <= risen {
		return 0
	}
	if len(rc.added) == 0 {
		s.findAdded(rc, p)
	}
	routes, own, all := s.routesOf(c.job).Links, 0., 0.
	for i, l := range rc.region.Links {
		all += rc.added[i]
		if c.cross == 0 || rc.added[i] == 0 {
			continue
		}
		at, on := slices.BinarySearch(routes, l)
		if routes = routes[at:]; on {
			own += rc.added[i]
		}
	}
	if all == 0 {
		return 0
	}
	return jobAstray * max(0, min(1, (ownAdded-own/all)/(ownAdded-strayAdded)))
}

// failureScore rates a failure by the time from it to the region's onset, and its distance. What load moved from it counts as
// far as it is sure that it failed. What failed when the region stalled as it does now did not cause it.
func (s *Stage) failureScore(rc *regionCase, f *failure, hops int, sure float64, p *root.Pressure) float64 {
	if s.foundStalled(rc, f.Time) {
		return leastScore
	}
	coincidence := .5 // the onset is not known
	switch {
	case rc.again >= 0:
		onset := s.beganAgain(rc)
		switch after := onset - s.clock.slotOf(int64(f.Time)); {
		case after < -1:
			coincidence = -.5 // the region was there before
		case after <= 2:
			coincidence = 1
		default:
			coincidence = max(.1, 1-.12*float64(after-2))
		}
	case rc.old:
		coincidence = -.5
	}
	if !f.broke() && coincidence > 0 {
		coincidence *= restoredShare
	}
	if coincidence > 0 && (s.passesNothing(f) || s.wasIdle(f)) {
		coincidence *= hostShare
	}
	moved := sure * s.moved(rc, f, p)
	coincidence = max(coincidence, moved)
	score := failureBias + failureOnset*coincidence + failureNear*[...]float64{1, .5, .2, .1}[min(hops, 3)]
	rc.moved = max(rc.moved, moved)
	score += failureMoved*moved - (1-moved)*rc.rose()
	if rc.back.Kind == schema.RootIncast && !slices.Contains(f.links, rc.back.Link) {
		score -= incastLoad
	}
	return score
}

// passesNothing reports whether no traffic of others goes through what failed.
func (s *Stage) passesNothing(f *failure) bool {
	if f.Kind == schema.NodeFailed || f.Kind == schema.NodeRestored {
		return true
	}
	for _, d := range f.devices {
		if !s.graph.IsSwitch(d) {
			return f.Port != "" || len(f.devices) == 1
		}
	}
	return false
}

// grown is how far the load on a region of a grid bears out that jobs added to it, 0 to 1. Where links have
// directions a region waits for others, and what it carries itself may fall.
func (rc *regionCase) grown(duplex bool) float64 {
	if !duplex || rc.load == 0 || rc.flooded {
		return 1
	}
	return max(0, min(1, (rc.load-1)/(2*(risen-1))))
}

// rose is what more load than before says against what is broken or slow, and for who loads.
func (rc *regionCase) rose() float64 {
	if rc.load <= risen {
		return 0
	}
	return min(mostRose, loadRose*math.Log2(rc.load/risen))
}

// slowLinkScore rates that a link without a failure in the logs carries less than it did. Where a cable died at the same time,
// other links lose what it fed them; that one cannot carry more is measured, unless what waits leads to the dead cable.
func (s *Stage) slowLinkScore(rc *regionCase) float64 {
	switch {
	case len(rc.failures) > 0 && rc.failures[0].fell() && rc.failures[0].score > 0 && (rc.failures[0].share > 0 || !rc.back.Cannot):
	case rc.back.Kind == schema.RootLinkCapacity && rc.back.Cannot:
		return slowLinkMeasured
	case rc.back.Kind == schema.RootLinkCapacity && rc.back.Slower && rc.onset >= 0:
		return slowLinkFell
	case rc.neck.Slower && rc.neck.Cannot && rc.neck.Before(&rc.drain):
		return slowLinkMeasured - rc.rose()
	case rc.neck.Slower && rc.neck.Before(&rc.drain):
		return slowLinkFell + slowLinkLost*(rc.neck.Lost-(1-root.ClearlyLess)) - rc.rose()
	}
	return math.Inf(-1)
}
