package diagnose

import (
	"github.com/giverny/giverny/schema"
)

// A region without an onset, older than what is remembered or present in the first interval, has no evidence by time.
// Only its load tells whose it is, or without load readings what jobs move. So it is with directed links if the region
// stalls more than before, but carries what it carried.
//
// explainedStall of the region's stall must be on links of the exchange of those to blame, and explainedLoad of its
// load theirs. Shares of the known traffic count only if that is comparable with the links' load.
const explainedStall, explainedLoad = .9, .8

// mostlyOwn of a region's links have no node of others if it lies on a job's own ground.
const mostlyOwn = .7

// explains is the score of a job whose traffic accounts for a standing region, alone or with that of other jobs. If the
// others move too little, it is a job's without traffic data: with directed links the only such job there, on a grid
// one on whose own ground the region lies. What a slow link or host holds up is no job's, and a tree of held-back
// traffic on a grid may be a slow host's unless it ends at the job's node and brings it much. 0: it does not account
// for it. A job all over whose ground regions began with this one accounts for all of them.
func (rc *regionCase) explains(c *suspect) float64 {
	if rc.isPhaseOf(c) {
		return jobExplains
	}
	isHeldUp := rc.back.Root.Cannot || rc.back.Root.Kind == schema.RootSlowReceiver ||
		rc.ends.drain.IsCertain() && !rc.overloads(c)
	if !isHeldUp && rc.isAlone(c) {
		return jobAlone
	}
	if !rc.in.measuresLoad || isHeldUp || rc.timeline.hasOnset() && !rc.asBefore() {
		return 0
	}
	share, cross := 0., 0.
	for i := range rc.suspects {
		o := &rc.suspects[i]
		share, cross = share+o.share, cross+o.cross
	}
	if c.known {
		if rc.in.comparable && c.share >= culpritShare && share >= explainedLoad && cross >= explainedStall {
			return jobExplains
		}
		return 0
	}
	if c.cross >= explainedStall && (!rc.in.comparable || share <= 1-explainedLoad) && rc.rules().hasAllUnmeasured(c) {
		return jobRemains
	}
	return 0
}

// unmeasured is how many jobs without traffic data have exchanges that cross the region.
func (rc *regionCase) unmeasured() (jobs int) {
	for i := range rc.suspects {
		if c := &rc.suspects[i]; !c.known && c.cross > 0 {
			jobs++
		}
	}
	return jobs
}

// standingMore is the largest share of a full port's load that was added since the onset of a region of jobs that ran
// before.
const standingMore = .3

// halfFull is the least use, percent, of a link between switches that jobs which communicate in bursts fill for a part
// of the time.
const halfFull = 50

// asBefore reports whether a region of directed links waits for a full port, or a link between switches that is full in
// bursts, which carried most of its load before the onset, and no failure explains it: it is full because of the jobs
// that ran before, by however little they grew. A link of a torus shows one load for both directions, so it cannot tell
// this.
func (rc *regionCase) asBefore() bool {
	inBursts := rc.back.Root.Kind == schema.RootLinkCapacity && !rc.back.Root.Slower && rc.back.Root.Use >= halfFull
	return !rc.hasFailed() && (rc.back.Root.IsFull() || inBursts) && rc.load.atLeast(fallen) &&
		rc.root.added <= standingMore*rc.root.carries
}

// hasFailed reports whether a failure may explain a region of directed links: one that scores, unless nothing waits for
// the failed part and the root carries no more than before.
func (rc *regionCase) hasFailed() bool {
	if len(rc.failures) == 0 || rc.failures[0].score <= 0 {
		return false
	}
	return !rc.rules().isUnrelated(&rc.failures[0]) || rc.root.added > leastMoved*rc.root.carries
}

// isAlone reports whether a standing region of a grid without load readings is of one job as far as the jobs' traffic
// tells: that of all jobs near it is measured, this one's exchange has all of the region's stall, and what others move
// there could not fill it. Nothing near is down.
func (rc *regionCase) isAlone(c *suspect) bool {
	if rc.in.measuresLoad || rc.in.router.Grid == nil || rc.timeline.hasOnset() || !c.known || c.share < explainedLoad ||
		c.cross < explainedStall {
		return false
	}
	for i := range rc.suspects {
		if !rc.suspects[i].known {
			return false
		}
	}
	for i := range rc.failures {
		if f := &rc.failures[i]; f.Broke() && !f.restored && !rc.in.history.PassesNothing(f.PlacedFailure) {
			return false
		}
	}
	return true
}
