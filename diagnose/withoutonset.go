package diagnose

import (
	"github.com/giverny/giverny/schema"
)

// A region without an onset, older than what is remembered or present in the first interval, has no evidence by time.
// Only its load tells whose it is. So it is with directed links if the region stalls more than before, but carries what
// it carried.
//
// explainedStall of the region's stall must be on links of the exchange of those to blame, and explainedLoad of its
// load theirs.
const explainedStall, explainedLoad = .9, .8

// ownGround of a region's links have no node of others if it lies on a job's own ground.
const mostlyOwn = .7

// explains is the score of a job whose traffic accounts for a standing region, alone or with that of other jobs. If the
// others move too little, it is a job's without traffic data: with directed links the only such job there, on a grid
// one on whose own ground the region lies. What a slow link or host holds up is no job's, and a tree of held-back
// traffic on a grid may be a slow host's unless it ends at the job's node and brings it much. 0: it does not account for
// it. A job all over whose ground regions began with this one accounts for all of them.
func (s scores) explains(c *suspect) float64 {
	if s.isPhaseOf(c) {
		return jobExplains
	}
	isHeldUp := s.back.Root.Cannot || s.back.Root.Kind == schema.RootSlowReceiver || s.ends.drain.IsCertain() && !s.overloads(c)
	if !s.in.measuresLoad || isHeldUp || s.timeline.hasOnset() && !s.asBefore() {
		return 0
	}
	share, cross := 0., 0.
	for i := range s.suspects {
		o := &s.suspects[i]
		share, cross = share+o.share, cross+o.cross
	}
	if c.known {
		if s.in.comparable && c.share >= culpritShare && share >= explainedLoad && cross >= explainedStall {
			return jobExplains
		}
		return 0
	}
	if c.cross >= explainedStall && share <= 1-explainedLoad && s.ground().hasAllUnmeasured(c) {
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

// fillsByFiles reports whether a suspect writes enough for its files to fill the port to a host of no job for which a
// region waits: what arrives there is written by somebody, and files that are written all the time, or since long
// before or after an onset, rise at none.
func (rc *regionCase) fillsByFiles(c *suspect) bool {
	if !c.filesKnown || !rc.endsAtNoJob() {
		return false
	}
	return rc.in.perSecond(rc.in.written(c.job)) >= culpritShare*rc.root.carries
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
func (s scores) asBefore() bool {
	inBursts := s.back.Root.Kind == schema.RootLinkCapacity && !s.back.Root.Slower && s.back.Root.Use >= halfFull
	return !s.hasFailed() && (s.back.Root.IsFull() || inBursts) && s.load.atLeast(fallen) &&
		s.root.added <= standingMore*s.root.carries
}

// hasFailed reports whether a failure may explain a region of directed links: one that scores, unless nothing waits for
// the failed part and the root carries no more than before.
func (s scores) hasFailed() bool {
	if len(s.failures) == 0 || s.failures[0].score <= 0 {
		return false
	}
	return !s.ground().isUnrelated(&s.failures[0]) || s.root.added > leastMoved*s.root.carries
}
