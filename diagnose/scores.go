package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// scores rates the causes of a region by what is measured of it. A score is a function of the case, which it does not change.
type scores struct{ *regionCase }

func (rc *regionCase) scores() scores { return scores{rc} }

// The scores of causes are log odds against an unknown cause: a bias and the contribution of each number.
// They were chosen on incidents with truth (package bench).
const (
	jobBias          = -6.9
	jobSpace         = 4.5 // share of the region's stall where its traffic can be
	jobFit           = 3.  // correlation
	jobRise          = 2.5 // at the onset
	jobStarted       = 2.5
	jobGrowth        = 2.  // of the load added to the region
	jobElsewhere     = 2.5 // back pressure begins where its exchange does not go
	jobAbsent        = 4.  // it has next to no part in the region
	jobTooLittle     = 6.  // it moves too little to fill the port where back pressure begins
	jobGrewTooLittle = 3.  // its traffic grew by less than the port's
	jobAddsElsewhere = 4.  // the load added to the region lies outside its exchange
	jobUnmeasured    = 4.  // it began with the onset, and its traffic is unknown
	jobUnseen        = 2.3 // half of that, if the links' load does not show it; twice as much if no load is measured
	jobUnplaced      = 4.  // on a grid without load readings: the stall is where its traffic cannot be
	jobConverges     = 5.  // the added load is a tree of its nodes' routes, or all of its exchange, and its traffic is unknown
	jobSendsAll      = 4.  // the added load is a tree of the routes from its nodes to one switch
	jobReceives      = 3.  // the full port leads to a host of this job alone, and it moves enough to fill that
	jobExplains      = 3.5 // the region's load always was its exchange, in whole or in part
	jobRemains       = 5.  // the region always stalled, and this is the only job without traffic data
	jobReads         = 2.5 // its file traffic is an outlier and follows the stall over the whole window
	jobOutlying      = 1.5 // its file traffic stands out; exchanges of large jobs always do
	jobShare         = 1.5
	jobRose          = 1. // the load on the region rose, weighted by its share of it
	failureBias      = -4.
	failureOnset     = 4.5
	failureNear      = 2.5
	failureMoved     = 2.5 // its earlier load was added to the full link
	slowLinkFell     = 2.  // a link that carries less than before while others wait for it
	slowLinkLost     = 4.  // per share lost beyond that
	slowLinkMeasured = 12. // others wait for it and it sends less than it could: no job explains that
	restoredShare    = .25 // a restored part seldom causes congestion
	hostShare        = .15 // nor does a host, its link, or an idle link: no traffic passes through

	// Links between a job and others count less if its file traffic is measured and no outlier, or is not
	// measured.
	wayWithoutFiles, wayUnknown = .25, .7
	// Load on the region that fell at its onset is evidence against load as the cause; load that rose, against failures.
	fallen, risen, loadFell, loadRose, mostRose = .95, 1.15, 1.5, 1.5, 4.
	// If more arrives for a host than its port can deliver, load is the cause.
	incastLoad = 4.
)

// timeWeight is how much evidence by time counts for a suspect with traffic on this share of a region: in full from half of it on.
func timeWeight(space float64) float64 { return .3 + .7*min(1, 2*space) }

// mostScore bounds the score that a suspect can reach whatever its traffic did: below 0 it cannot be accused,
// and evidence by time is not computed.
func (c *suspect) mostScore() float64 {
	space, time := max(c.cross, .9*min(1, c.gate), c.way), jobFit+jobRise+jobOutlying
	if c.evidence.started {
		time += jobStarted
	}
	switch {
	case c.file && c.filesKnown: // all of it may show on its way, or end at a storage node
		space = 1
	case c.atRoot:
		space = max(space, .9)
	}
	return jobBias + jobSpace*space + time*timeWeight(space) + (jobShare+jobRose)*c.share + jobGrowth*c.growth
}

// rate scores a suspect, of which sends is the part by whose hosts wait to send. Its traffic counts as far as it has a path to the region.
func (s scores) rate(c *suspect) (score, sends float64) {
	succeeds := s.succeeds(c.job)
	if !succeeds && s.timeline.foundStalled(c.job.Start) {
		return math.Inf(-1), 0
	}
	ground, space := s.ground(), s.spaceScore(c)
	score = jobBias + jobSpace*space + c.timeScore(succeeds)*timeWeight(space)
	score += jobShare * c.share
	score += ground.growthScore(c)
	switch explains := s.explains(c); {
	case explains > 0:
		score += explains
	case s.load.isBelow(fallen) && !s.ends.flooded && !s.fuller() && !ground.receives(c):
		score -= loadFell * (1 - c.converges)
	}
	switch {
	case c.fetches:
		score += jobReads * min(1, 2*space)
	case c.surelyReads():
		score += jobReads
	}
	score += ground.endScore(c)
	score -= ground.unseenPenalty(c, space)
	score -= ground.misfitPenalty(c)
	sends = s.sendScore(c)
	score += sends
	score += jobRose * min(1, s.rose()) * c.share * (1 - s.rerouted)
	return score, sends
}

// growthScore is the score of a suspect's part in the load that was added to the region, and did not move there from a failed part.
func (s scores) growthScore(c *suspect) float64 { return jobGrowth * c.growth * (1 - s.rerouted) }

// spaceScore is the share of a region's stall, 0 to 1, where a suspect's traffic can be.
func (s scores) spaceScore(c *suspect) float64 {
	way := c.way
	switch {
	case c.file:
	case c.filesKnown:
		way *= wayWithoutFiles
	default:
		way *= wayUnknown
	}
	if seen, known := s.seenOnWay(c); known {
		way = seen
	}
	files := 1.
	if c.file && c.feature == history.Write {
		files = s.ground().writtenPart(c)
	}
	space := max(c.cross, .9*min(1, c.gate), min(way, files), c.converges)
	switch {
	case c.atRoot:
		space = max(space, .9*files)
	case c.file && c.filesKnown && s.endsAtNoJob():
		space = max(space, .9*files)
	}
	return space
}

// timeScore is the evidence by time for a suspect, which may succeed a job that started with the region.
func (c *suspect) timeScore(succeeds bool) float64 {
	time := jobFit*c.evidence.Fit() + jobRise*c.evidence.rise
	if c.file {
		time += jobOutlying * outlying(c.devs) * (.3 + .7*min(1, c.evidence.strength()))
	}
	if succeeds {
		time += jobStarted + jobRise*c.growth
	}
	if c.evidence.started {
		time += jobStarted
		if !c.known {
			time += jobUnmeasured
		}
	}
	return time
}

// endScore is the evidence by where back pressure begins.
func (d directed) endScore(c *suspect) (score float64) {
	if d.back.Kind != "" && d.back.Kind != schema.RootDeadlock && !c.atRoot && (!c.file || d.endsAtJob()) {
		switch {
		case c.filesKnown && (d.endsAtNoJob() || d.endsAtJob()): // its exchange does not lead there, nor does its traffic with files, if any
			score = -jobTooLittle * (1 + nothingMoved)
		case !d.endsAtNoJob():
			score = -jobElsewhere
		}
	}
	switch {
	case d.cannotEndAt(c):
		score -= jobElsewhere
	case d.receives(c):
		score += jobReceives
	}
	return score
}

// endScore is the evidence by where the region's traffic ends.
func (g grid) endScore(c *suspect) (score float64) {
	switch {
	case g.excludes(c):
		score = -jobElsewhere
	case c.job == g.ends.sender && g.ends.drain.Grew && g.ends.drain.IsCertain() && !c.known:
		score += jobConverges
	case !c.known && g.loadsAll(c) > 0:
		score += jobConverges * g.loadsAll(c)
	case g.endsAtOwn(c):
		score += g.holdsItselfUp(c)
	case g.receives(c):
		score += jobReceives
	}
	if c.converges > 0 {
		score = max(min(score, 0)*(1-c.converges), score, jobSendsAll*c.converges)
	}
	return score
}

// Thresholds for a job that surely reads or writes what stalls the region: deviations of its traffic, correlation with
// the stall, and p-value.
const readsDeviations, readsCorrelation, readsP = 4, .8, .02

func (c *suspect) surelyReads() bool {
	return c.file && c.devs >= readsDeviations && c.evidence.Correlation >= readsCorrelation && c.evidence.P <= readsP
}

// grownShare of a root's load must have been added since the onset for its growth to be evidence.
const grownShare = .2

// fuller reports whether the root of directed links carries more than before the onset: load was added there, and the links
// that lead to it may carry less, as back pressure holds them up.
func (s scores) fuller() bool {
	return s.back.Kind == schema.RootIncast && s.root.added > grownShare*s.root.carries
}

// endsAtOwn reports whether the load added to a region of a grid is a tree of a job's nodes that ends at one of them. Such
// a job holds itself up: its total traffic may have fallen at the onset, as a victim's does, while the load that arrives
// at that node has grown.
func (g grid) endsAtOwn(c *suspect) bool {
	d := &g.ends.drain
	sends, onOwn := c.job == g.ends.sender && d.IsRoot(), !c.file && c.cross >= explainedStall
	if !g.ends.flooded || !sends && !onOwn {
		return false
	}
	if g.ends.endsAtNodes() {
		return c.job.Has(g.ends.endings.Any.Device)
	}
	return sends && (c.job.Has(d.Device) || d.Fit >= exactFit && g.in.hasBeside(c.job, d.Device)) ||
		onOwn && d.Meeting.IsKnown() && d.Meeting.Grew && c.job.Has(d.Meeting.Device)
}

// Doublings of the load that arrives where a region of a grid ends: up to surelyNot it shows no added load, from surelyMore it
// surely does.
const surelyNot, surelyMore = .1, .4

// unmoved is the share of a tree's evidence for a job, if it ends at the job's node, whose traffic neither rose nor correlates
// with the stall; from the strength moving on it counts in full. On links that always wait, full buffers hold up the job's
// traffic.
const unmoved, moving = .4, .5

// holdsItselfUp is the score of that for a job, scaled by how surely more arrives there, unless the load was rerouted from a
// failed link: the nodes of a large job are everywhere, so another job's tree looks like its own.
func (g grid) holdsItselfUp(c *suspect) float64 {
	sure := max(0, min(1, (g.ends.arrives.doublings()-surelyNot)/(surelyMore-surelyNot))) * (1 - g.rerouted) * (1 - g.ends.starved)
	if !c.known { // only the tree speaks
		return jobConverges * sure
	}
	moves := 1.
	if g.ends.drain.Idle {
		moves = min(1, c.evidence.strength()/moving)
	}
	return (jobConverges*(unmoved+(1-unmoved)*moves) + jobRise*(1-c.evidence.rise)*moves) * sure
}

// notSeenPenalty is the penalty of a suspect on a grid whose load does not show. Without load readings only its place and time speak against
// it, so that the more of the region's stall lies where its traffic cannot be, the less it is likely. If it began with the region and
// its traffic is unknown, its start is all there is against it, and an unlisted job may have begun, too, unless the added load is a
// tree of its nodes, or on most of its exchange.
func (g grid) notSeenPenalty(c *suspect, space float64) (against float64) {
	unseen := jobUnseen
	if !g.in.measuresLoad {
		against, unseen = jobUnplaced*(1-space), 2*jobUnseen
	}
	if c.evidence.started && !c.known && c.job != g.ends.sender && !g.in.loadsExchange(c.job) {
		against += unseen * timeWeight(space)
	}
	return against
}

// ownAdded of the load added to a region of a grid lies on a culprit's own exchange; if only strayAdded does, the
// penalty is full.
const ownAdded, elsewhereAdded = .9, .7

// elsewherePenalty is the penalty of a job if load was added to a region of a grid on links outside its exchange: back pressure
// reaches such links too, but then they carry less, not more. File traffic goes elsewhere.
func (g grid) elsewherePenalty(c *suspect) float64 {
	if c.file || !c.known || !g.load.isAbove(risen) {
		return 0
	}
	routes, own, all := g.in.routesOf(c.job).Links, 0., 0.
	for i, l := range g.region.Links {
		all += g.addedByLink[i]
		if c.cross == 0 || g.addedByLink[i] == 0 {
			continue
		}
		at, on := slices.BinarySearch(routes, l)
		if routes = routes[at:]; on {
			own += g.addedByLink[i]
		}
	}
	if all == 0 {
		return 0
	}
	return jobAddsElsewhere * max(0, min(1, (ownAdded-own/all)/(ownAdded-elsewhereAdded)))
}

// failureScore rates a failure by the time from it to the region's onset, and its distance. It also returns the share of the added
// load that moved from it, as far as the failure is sure. A failure at a time when the region stalled as it does now did not cause it.
func (s scores) failureScore(f *history.PlacedFailure, hops int, sure float64) (score, moved float64) {
	if s.timeline.foundStalled(f.Time) {
		return leastScore, 0
	}
	coincidence := .5 // the onset is unknown
	switch {
	case s.timeline.burst != noOnset:
		onset := s.timeline.burstBegan()
		switch after := onset - s.in.history.Clock.SlotOf(int64(f.Time)); {
		case after < -1:
			coincidence = -.5 // the region was there before
		case after <= 2:
			coincidence = 1
		default:
			coincidence = max(.1, 1-.12*float64(after-2))
		}
	case s.timeline.old:
		coincidence = -.5
	}
	if !f.Broke() && coincidence > 0 {
		coincidence *= restoredShare
	}
	if coincidence > 0 && (s.in.history.PassesNothing(f) || s.in.history.WasIdle(f)) {
		coincidence *= hostShare
	}
	moved = sure * s.movedFrom(f)
	coincidence = max(coincidence, moved)
	score = failureBias + failureOnset*coincidence + failureNear*[...]float64{1, .5, .2, .1}[min(hops, 3)]
	if score += failureMoved*moved - (1-moved)*s.rose(); !s.endsAtFailed(f) {
		score -= endsElsewhere(1 - s.ends.nodesProbability())
	}
	if s.back.IsIncast() && !slices.Contains(f.Links, s.back.Link) {
		score -= incastLoad
	}
	return score, moved
}

// endsAtFailed reports whether the traffic of a region of a grid seems to end at a switch of a failed part, or beside it: what waits for a dead
// link does.
func (s scores) endsAtFailed(f *history.PlacedFailure) bool {
	return s.ends.endings.Nodes.Found && s.in.anyBeside(f.Devices, s.ends.endings.Nodes.Device) || s.ends.drain.Fit > 0 && s.in.anyBeside(f.Devices, s.ends.drain.Device)
}

// rose is the evidence of risen load, of a region or where its traffic ends on a grid, against failures and slow parts, and for jobs.
func (s scores) rose() float64 {
	load := s.load.orMore(s.ends.arrives)
	if !load.isAbove(risen) {
		return 0
	}
	return min(mostRose, loadRose*math.Log2(load.times/risen))
}

// slowLinkScore rates the cause that a link without a logged failure carries less than before. If a cable died at the same
// time, other links lose what it fed them; that a link cannot carry more is measured, unless what waits leads to the dead
// cable.
func (s scores) slowLinkScore() float64 {
	switch {
	case len(s.failures) > 0 && s.failures[0].fell() && s.failures[0].score > 0 && (s.failures[0].share > 0 || !s.back.Cannot):
	case s.back.Kind == schema.RootLinkCapacity && s.back.Cannot:
		return slowLinkMeasured
	case s.back.Kind == schema.RootLinkCapacity && s.back.Slower && s.timeline.hasOnset():
		return slowLinkFell
	case s.ends.neck.Slower && s.ends.neck.Cannot && s.ends.neck.Before(&s.ends.drain):
		return slowLinkMeasured - s.rose() - endsElsewhere(1-s.ends.nodesProbability())
	case s.ends.neck.Slower && s.ends.neck.Before(&s.ends.drain):
		return slowLinkFell + slowLinkLost*(s.ends.neck.Lost-(1-root.ClearlyLess)) - s.rose() - endsElsewhere(1-s.ends.nodesProbability())
	}
	return math.Inf(-1)
}
