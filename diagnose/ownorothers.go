package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// ownLinks is the share of a region's links without a node of another job at either end.
func (rc *regionCase) ownLinks(own *job) float64 {
	mine := 0
	for _, l := range rc.region.Links {
		from, to := rc.in.graph.Ends(l)
		if !rc.in.hasOthers(from, own) && !rc.in.hasOthers(to, own) {
			mine++
		}
	}
	return float64(mine) / float64(len(rc.region.Links))
}

// onlyItsHostsWait reports whether hardly any hosts of other jobs wait to send into a region, if any hosts do.
func (rc *regionCase) onlyItsHostsWait(j *job) bool {
	own, unlisted, all := rc.hostWaits(j)
	return own+unlisted >= nearlyAllWaits*all
}

// nearlyAllWaits is the least share of the time for which hosts wait that leaves others next to none.
const nearlyAllWaits = .9

// classOf distinguishes system congestion from intra-application congestion, which is of one job without file traffic.
// Either it fills the port to a host of its own, and back pressure stops no host of others: jobs contend for a port if
// both send over it, and what waits behind is only held up. Or others have little part in the region, and none that has
// some loses much. It also returns the probability that the class is right if the accused are. In the middle either
// class is right, so the two probabilities may sum to more than 1.
func (rc *regionCase) classOf(accused int) (class schema.CauseClass, right float64) {
	c := &rc.suspects[0]
	if accused > 1 || c.file || rc.endsAtNoJob() || c.away || rc.endsOutside(c.job) || rc.mostlyFiles(c) {
		return schema.CauseSystem, 1
	}
	if rc.fillsItself(c) && rc.onlyItsHostsWait(c.job) {
		return schema.CauseIntraApplication, 1
	}
	shape := rc.othersModel(c)
	part := rc.meanPart(c.job, rc.othersPart(c))
	odds := shape.slope*math.Log((part+partPrior)/(1-part+partPrior)) + shape.middle
	loss := shape.lost * ramp(rc.mostLost(c.job), shape.mayHurt, shape.mayHurt+surelyHurts)
	if rc.in.router.Grid == nil {
		loss *= ramp(part, littleOfOthers, someOfOthers)
	}
	odds += loss
	if odds < 0 {
		return schema.CauseIntraApplication, logistic(shape.either - odds)
	}
	return schema.CauseSystem, logistic(shape.either + odds)
}

// mostlyFiles reports whether most of what a suspect moves is file traffic by the traffic table, of which nothing shows
// when it began to stall a region without an onset. What links alone show may be for a node of the job, if those of the
// senders show nothing.
func (rc *regionCase) mostlyFiles(c *suspect) bool {
	if !c.known || !c.filesKnown || rc.timeline.hasOnset() || c.job.Traffic.Listed[history.RDMARead] {
		return false
	}
	recent := rc.in.recentOf(c.job)
	return recent.files >= recent.all/2
}

// endsOutside reports whether the back pressure of a region surely ends at the nodes of a switch, and a job has none
// there, or on a grid beside it on the line: what its nodes send each other ends at one of them. Nor does it where the
// load added on the line cannot go to the switches with its nodes.
func (rc *regionCase) endsOutside(j *job) bool {
	if host, known := rc.fullPortTo(); known {
		return !rc.in.graph.IsSwitch(host) && !j.Has(host)
	}
	if rc.back.IsIncast() {
		return !rc.hasHostAtEnd(j)
	}
	end := &rc.ends.endings.Any
	if !end.Found || end.Link != schema.NoLink {
		return false
	}
	return rc.ends.endings.AtNodes >= surelyEnds && !rc.in.hasBeside(j, end.Device) ||
		rc.in.measuresLoad && rc.ends.endings.AtNodes >= mayEnd && rc.onGrid.CannotEndAt(j.Has)
}

// othersModel is the model for a region of which a suspect is accused.
func (rc *regionCase) othersModel(c *suspect) ofOthers {
	switch {
	case rc.in.router.Grid == nil:
		return othersOnTrees
	case !rc.in.measuresLoad:
		return othersOnGrids
	}
	model := othersOnLoadedGrids // all of a tree's load is the job's, and jobs that cross it are held up
	model.lost *= ramp(c.fit, mayConverge, surelyConverges)
	return model
}

// surelyHurts is by how much more than mayHurt the worst-off other job must lose to say all that a loss can; up to
// mayHurt it says nothing. A loss is what falls below the least mean before, so a job that lost a fifth of what it
// usually moves shows less. On grids back pressure reaches around a region, and more is asked for.
const surelyHurts = .1

// A loss on directed links counts as far as the others have a part in the region, fully from someOfOthers on: a job that
// waits with little behind the accused's own incast is a victim, and does not make that contention between jobs.
const littleOfOthers, someOfOthers = .1, .25

// othersPart is the part that jobs other than c have in a region, 0 to 1: by the load there, if that is measured or
// links are directed. On a grid without load readings it is the others' share of what waits: a job's weight is the
// share of its exchange that waits times the geometric mean of its nodes and its traffic, as nodes that send little
// wait with little, but are no less held up.
func (rc *regionCase) othersPart(c *suspect) float64 {
	if rc.in.router.Grid == nil || rc.in.measuresLoad {
		return rc.othersLoad(c)
	}
	others, all, usual := 0., 0., rc.movedByNode()
	for i := range rc.suspects {
		o := &rc.suspects[i]
		if o.waitPerByte == 0 {
			continue
		}
		wait := o.waitPerByte * math.Sqrt(o.job.Size()*rc.in.movedOr(o.job, usual))
		if all += wait; o.job.ID != c.job.ID {
			others += wait
		}
	}
	if all == 0 {
		return 1 // none waits
	}
	return others / all
}

// movedOr is what a job moved recently, bytes; if that is not known, as much by node as is usual.
func (in *interval) movedOr(j *job, usual float64) float64 {
	if j.Traffic == nil || in.measuresFilesOnly(j) {
		return usual * j.Size()
	}
	return in.recentOf(j).all
}

// movedByNode is the mean traffic per node of the suspects with known traffic, bytes; 1 if there are none.
func (rc *regionCase) movedByNode() float64 {
	moved, nodes := 0., 0.
	for i := range rc.suspects {
		if j := rc.suspects[i].job; j.Traffic != nil && !rc.in.measuresFilesOnly(j) {
			moved, nodes = moved+rc.in.recentOf(j).all, nodes+j.Size()
		}
	}
	if moved == 0 {
		return 1
	}
	return moved / nodes
}

// othersLoad is the part, 0 to 1, that jobs other than c have in a region of directed links: their share of the load of
// each of its links, weighted by how long the link stalls. On a link that the job's exchange does not use all of it is
// theirs, also if no known job is there. On the others it is the less of two numbers: what their exchanges put on the
// link, and what the link carried before the onset. The rest is the job's, which is accused of the load that was added:
// what it sends to a few of its nodes is more there than a uniform exchange would be. If no load is measured, it is the
// others' share of the time for which hosts wait to send.
func (rc *regionCase) othersLoad(c *suspect) float64 {
	if rc.waiting {
		own, _, all := rc.hostWaits(c.job)
		return 1 - own/all
	}
	own, theirs := rc.expectedLoads(c, rc.region.Links)
	part, waits := 0., 0.
	for k, l := range rc.region.Links {
		waits += rc.waits[k]
		part += rc.waits[k] * rc.othersOn(c, l, own[k], theirs[k])
	}
	if waits == 0 {
		return 1
	}
	return part / waits
}

// othersOn is the part of jobs other than c in the load of a link, 0 to 1.
func (rc *regionCase) othersOn(c *suspect, l schema.LinkID, own, theirs float64) float64 {
	if rc.in.routesOf(c.job).On(l) == 0 {
		return 1
	}
	carries := rc.in.read.Carries(l)
	switch baseline := rc.baselineUse(l); {
	case carries == 0 || !rc.in.comparable:
		carries = own + theirs
	case baseline.known:
		theirs = min(theirs, rc.in.rateAt(baseline.of, l))
	}
	if theirs <= 0 {
		return 0
	}
	return min(1, theirs/carries)
}

// expectedLoads is what the exchanges of a job and of all others put on each of some links, bytes/s. They are valid
// until the next call.
func (rc *regionCase) expectedLoads(c *suspect, links []schema.LinkID) (own, theirs []float64) {
	w := &rc.in.scratch
	w.own, w.theirs = slices.Grow(w.own[:0], len(links))[:len(links)],
		slices.Grow(w.theirs[:0], len(links))[:len(links)]
	clear(w.own)
	clear(w.theirs)
	usual := rc.movedByNode()
	for i := range rc.suspects {
		o := &rc.suspects[i]
		if o.cross == 0 {
			continue
		}
		load := w.theirs
		if o.job.ID == c.job.ID {
			load = w.own
		}
		rc.in.addExpected(load, links, o.job, usual)
	}
	return w.own, w.theirs
}

// addExpected adds what a job's exchange puts on each of some links, in ascending order, bytes/s. Of a job whose
// traffic is not known it is as much by node as is usual.
func (in *interval) addExpected(load []float64, links []schema.LinkID, j *job, usual float64) {
	rate, set, from := in.perSecond(in.movedOr(j, usual)), in.routesOf(j), 0
	for k, l := range links {
		at, on := slices.BinarySearch(set.Links[from:], l)
		if from += at; on {
			load[k] += rate * float64(set.Load[from])
		}
	}
}
