package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// culpritShare of the root's load is the least that a culprit moves; from enoughShare on a job has no penalty. With
// directed links enoughOfPort suffices: jobs that contend for a port each get a part.
const culpritShare, enoughShare, enoughOfPort = .25, .5, .35

// tooLittlePenalty is the penalty of a suspect whose traffic is too little for the root's load, or on a grid its growth
// for what was added where the region ends: a coincidence in time does not make a cause. What arrives at a host of the
// job alone is the job's, wherever it comes from.
func (rc *regionCase) tooLittlePenalty(c *suspect) float64 {
	if !c.known || rc.root.carries <= 0 || rc.rules().receives(c) || rc.isPhaseOf(c) {
		return 0
	}
	recent, before := rc.in.recentOf(c.job), rc.baselineOf(c.job)
	all, baseline := recent.all, before.all
	if c.file && c.filesKnown {
		if all, baseline = recent.files, before.files; rc.endsAtNoJob() {
			all = rc.in.written(c.job)
		}
	}
	interval := float64(rc.in.history.Clock.Duration) / 1e9
	if penalty, known := rc.rules().tooLittleAtEnd(c, all, all-baseline*before.ran); known {
		return penalty
	}
	least, enough := culpritShare, rc.rules().enoughOfRoot()
	if !c.file && !rc.in.measuresLoad && rc.back.HasSwitch() && rc.back.IsIncast() { // a host's port, of one job only
		least, enough = addedShare, addedEnough
	}
	return jobTooLittle * shortOf(all/interval/rc.root.carries, least, enough)
}

// shortOf is how far a job's share of a load is from enough: 1 at the least of a culprit.
func shortOf(share, least, enough float64) float64 { return ramp(share, enough, least) }

func (grid) enoughOfRoot() float64 { return enoughShare }

func (directed) enoughOfRoot() float64 { return enoughOfPort }

// tooLittleAtEnd is the same by the load added at the switch where the region's traffic ends, or at the full link for
// which it waits.
func (g grid) tooLittleAtEnd(c *suspect, recent, grew float64) (penalty float64, known bool) {
	end, known := g.ends.end()
	if !known {
		return 0, false
	}
	interval := float64(g.in.history.Clock.Duration) / 1e9
	switch {
	case g.ends.fullLink != schema.NoLink && (c.file || g.in.routesOf(c.job).On(g.ends.fullLink) > 0):
		// the region does not end at the switch
		more, _ := g.averaged(g.pressure).Added(g.ends.fullLink)
		return addsTooLittle(g.withOthers(c, grew)/interval, more), true
	case g.endsAtOwn(c): // what it sends there may hold up its other traffic, so its total need not grow
		grew = recent
	case (!c.file || !c.writes() && g.ends.drain.IsCertain()) && g.in.isBesideExchange(c.job, end):
		grew = min(grew, g.in.brings(end, c.job, grew))
	}
	more := g.averaged(g.pressure).ArrivesMore(end)
	return addsTooLittle(g.withOthers(c, grew)/interval, more), more > 0
}

// Load, relative to before the onset, up to which a region of a grid shows that no file traffic was added to it, and
// from which it may have been.
const filesAddNone, filesMayAdd = .95, 1.05

// addsNone is the penalty of a suspect for its file traffic if neither the links of a region of a grid nor those of the
// switch where its traffic ends carry more than before the onset: reads and writes congest by what they add, and a host
// that takes little lets less arrive.
func (g grid) addsNone(c *suspect) float64 {
	if !c.file || !c.known || !g.load.known {
		return 0
	}
	return jobTooLittle * shortOf(g.load.orMore(g.ends.arrives).times, filesAddNone, filesMayAdd)
}

// writes reports whether a suspect's file traffic leads from its nodes to others: what it reads arrives at its own.
func (c *suspect) writes() bool { return c.file && !c.fetches && c.feature != history.Read }

// addedShare of the load added where the traffic of a region of a grid ends is the least growth of a culprit's traffic;
// from addedEnough on a job has no penalty.
const addedShare, addedEnough = .4, .75

// addsTooLittle is the penalty of a suspect that may have added some bytes/s where a region of a grid ends at a known
// switch, if these explain too little of the load added there, more.
func addsTooLittle(adds, more float64) float64 {
	if more <= 0 {
		return 0
	}
	return jobTooLittle * shortOf(adds/more, addedShare, addedEnough)
}

// Of what jobs with files that rose by togetherRise at the onset added together, togetherShare is the least of one of
// several culprits: of three at one storage node each has a third.
const togetherShare, togetherRise = culpritShare, .5

// withOthers is what a suspect adds where a region of a grid ends, bytes. Jobs with files at one storage node add
// together what none of them does alone.
func (rc *regionCase) withOthers(c *suspect, grew float64) float64 {
	if !c.joins() {
		return grew
	}
	all := grew
	for i := range rc.suspects {
		if o := &rc.suspects[i]; o.job != c.job && o.joins() {
			before := rc.baselineOf(o.job)
			all += max(0, rc.in.recentOf(o.job).files-before.files*before.ran)
		}
	}
	if grew < togetherShare*all {
		return grew
	}
	return all
}

// joins reports whether a suspect's file traffic rose at the onset.
func (c *suspect) joins() bool { return c.file && c.filesKnown && c.evidence.rise >= togetherRise }
