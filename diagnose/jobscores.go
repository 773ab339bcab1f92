package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// timeWeight is how much evidence by time counts for a suspect with traffic on this share of a region: in full from
// half of it on.
func timeWeight(space float64) float64 { return .3 + .7*min(1, 2*space) }

// mostScore bounds the score that a suspect can reach whatever its traffic did: below 0 it cannot be accused,
// and evidence by time is not computed.
func (c *suspect) mostScore() float64 {
	space, time := max(c.cross, .9*min(1, c.gate), c.way), jobFit+jobRise+jobOutlying
	if c.evidence.started {
		time += jobStarted
	}
	if c.atRoot {
		space = max(space, .9)
	}
	space = max(space, .9*c.leaves)
	return jobBias + jobSpace*space + time*timeWeight(space) + jobReceives*c.leaves + (jobShare+jobRose)*c.share + jobGrowth*c.growth
}

// rateJob scores a suspect. Its traffic counts as far as it has a path to the region.
func (rc *regionCase) rateJob(c *suspect) (score float64) {
	succeeds := rc.succeeds(c.job)
	if !succeeds && rc.timeline.foundStalled(c.job.Start) {
		return math.Inf(-1)
	}
	rules, space := rc.rules(), rc.spaceScore(c)
	score = jobBias + jobSpace*space + c.timeScore(succeeds)*timeWeight(space)
	score += jobShare * c.share
	if rules.showsGrowth(c) {
		score += rc.growthScore(c)
	}
	switch explains := rc.explains(c); {
	case explains > 0:
		score += explains * (1 - rc.rerouted)
	case rc.load.isBelow(fallen) && !rc.ends.flooded && !rc.fuller() && !rules.receives(c):
		score -= loadFell * (1 - c.converges)
	}
	switch {
	case c.fetches:
		score += jobReads * min(1, 2*space)
	case c.surelyReads():
		score += jobReads
	}
	score += rules.endScore(c)
	score -= rules.unseenPenalty(c, space)
	score -= rules.misfitPenalty(c)
	score += rc.sendScore(c)
	score += jobRose * min(1, rc.rose()) * c.share * (1 - rc.rerouted)
	return score
}

// growthScore is the score of a suspect's part in the load that was added to the region, and did not move there from a
// failed part.
func (rc *regionCase) growthScore(c *suspect) float64 {
	score := jobGrowth * c.growth * (1 - rc.rerouted)
	if !rc.in.measuresLoad && !c.file {
		score *= ramp(c.grew, leastGrowth, surelyGrew)
	}
	return score
}

// spaceScore is the share of a region's stall, 0 to 1, where a suspect's traffic can be.
func (rc *regionCase) spaceScore(c *suspect) float64 {
	others := 1. // how surely it has traffic with other nodes
	switch {
	case c.file:
	case c.filesKnown:
		others = wayWithoutFiles
	default:
		others = wayUnknown
	}
	way, gate := others*c.way, .9*min(1, c.gate)
	if !rc.in.graph.Duplex() {
		gate *= others // on a grid, its exchange also holds up what passes its nodes
	}
	if seen, known := rc.seenOnWay(c); known {
		way = seen
	}
	files := 1.
	if c.file && c.feature == history.Write {
		files = rc.rules().writtenPart(c)
	}
	space := max(c.cross, gate, min(way, files), c.converges)
	switch {
	case c.atRoot:
		space = max(space, .9*files)
	case c.file && c.filesKnown && rc.endsAtNoJob():
		space = max(space, .9*files)
	}
	return max(space, .9*c.leaves)
}

// timeScore is the evidence by time for a suspect, which may succeed a job that started with the region.
func (c *suspect) timeScore(succeeds bool) float64 {
	time := jobFit*c.evidence.Fit() + jobRise*c.evidence.rise
	if c.file {
		time += jobOutlying * outlying(c.devs)
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

// Thresholds for a job that surely reads or writes what stalls the region: deviations of its traffic, correlation with
// the stall, and p-value.
const readsDeviations, readsCorrelation, readsP = 4, .8, .02

// surelyReads reports whether they hold for a suspect.
func (c *suspect) surelyReads() bool {
	return c.file && c.devs >= readsDeviations && c.evidence.Correlation >= readsCorrelation && c.evidence.P <= readsP
}

// grownShare of a root's load must have been added since the onset for its growth to be evidence.
const grownShare = .2

// fuller reports whether the root of directed links carries more than before the onset: load was added there, and the
// links that lead to it may carry less, as back pressure holds them up.
func (rc *regionCase) fuller() bool {
	return rc.back.Root.Kind == schema.RootIncast && rc.root.added > grownShare*rc.root.carries
}

// rose is the evidence of risen load, of a region or where its traffic ends on a grid, against failures and slow parts,
// and for jobs.
func (rc *regionCase) rose() float64 {
	load := rc.load.orMore(rc.ends.arrives)
	if !load.isAbove(risen) {
		return 0
	}
	return min(mostRose, loadRose*math.Log2(load.times/risen))
}

// succeeds reports whether a job that began after a region runs on half or more of the nodes of one that began with the
// region and ended before: it continues that job's traffic.
func (rc *regionCase) succeeds(j *job) bool {
	if !rc.timeline.foundStalled(j.Start) {
		return false
	}
	for _, was := range rc.in.history.Jobs() {
		if was.End != 0 && was.End <= j.Start && rc.timeline.startedAt(was.Start) && 2*was.Shares(j.Job) >= j.Size() {
			return true
		}
	}
	return false
}
