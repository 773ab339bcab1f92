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
func (s scores) tooLittlePenalty(c *suspect) float64 {
	if !c.known || s.root.carries <= 0 || s.ground().receives(c) || s.isPhaseOf(c) {
		return 0
	}
	all, files := s.in.recentOf(c.job)
	baseline, baselineFiles := s.baselineOf(c.job)
	if c.file && c.filesKnown {
		if all, baseline = files, baselineFiles; s.endsAtNoJob() {
			all = s.in.written(c.job)
		}
	}
	interval := float64(s.in.history.Clock.Duration) / 1e9
	if penalty, known := s.ground().tooLittleAtEnd(c, all, baseline); known {
		return penalty
	}
	least, enough, carries := culpritShare, s.ground().enoughOfRoot(), s.root.carries
	if c.file && s.endsAtNoJob() {
		least, enough, carries = addedShare, addedEnough, max(1, carries-s.displaced(c.job)/interval)
		all = s.withWriters(c, all, addedEnough*carries*interval)
	}
	return jobTooLittle * shortOf(all/interval/carries, least, enough)
}

// shortOf is how far a job's share of a load is from enough: 1 at the least of a culprit.
func shortOf(share, least, enough float64) float64 {
	return min(1, max(0, (enough-share)/(enough-least)))
}

func (grid) enoughOfRoot() float64 { return enoughShare }

func (directed) enoughOfRoot() float64 { return enoughOfPort }

// tooLittleAtEnd is the same by the load added at the switch where the region's traffic ends, or at the full link for
// which it waits.
func (g grid) tooLittleAtEnd(c *suspect, recent, baseline float64) (penalty float64, known bool) {
	end, known := g.ends.end()
	if !known {
		return 0, false
	}
	grew := recent - baseline*c.job.baseline.ran // links were compared with the mean of all slots
	interval := float64(g.in.history.Clock.Duration) / 1e9
	switch {
	case g.ends.fullLink != schema.NoLink && (c.file || g.in.routesOf(c.job).On(g.ends.fullLink) > 0):
		// the region does not end at the switch
		more, _ := g.averaged(g.p).Added(g.ends.fullLink)
		return addsTooLittle(g.scores().withOthers(c, grew)/interval, more), true
	case g.endsAtOwn(c): // what it sends there may hold up its other traffic, so its total need not grow
		grew = recent
	case (!c.file || !c.writes() && g.ends.drain.IsCertain()) && g.endsBeside(c.job):
		grew = min(grew, g.in.brings(end, c.job, grew))
	}
	more := g.averaged(g.p).ArrivesMore(end)
	return addsTooLittle(g.scores().withOthers(c, grew)/interval, more), more > 0
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
	return jobTooLittle * max(0, min(1, (filesMayAdd-g.load.orMore(g.ends.arrives).times)/(filesMayAdd-filesAddNone)))
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
func (s scores) withOthers(c *suspect, grew float64) float64 {
	if !c.joins() {
		return grew
	}
	all := grew
	for i := range s.suspects {
		if o := &s.suspects[i]; o.job != c.job && o.joins() {
			_, files := s.in.recentOf(o.job)
			_, baseline := s.baselineOf(o.job)
			all += max(0, files-baseline*o.job.baseline.ran)
		}
	}
	if grew < togetherShare*all {
		return grew
	}
	return all
}

// joins reports whether a suspect's file traffic rose at the onset.
func (c *suspect) joins() bool { return c.file && c.filesKnown && c.evidence.rise >= togetherRise }

// withWriters is what a suspect writes to a full port of a host of no job, bytes, with other writers that rose with it,
// unless one of them writes enough alone.
func (s scores) withWriters(c *suspect, recent, enough float64) (all float64) {
	all = recent
	if !c.joins() || recent >= enough {
		return all
	}
	for i := range s.suspects {
		o := &s.suspects[i]
		if o.job == c.job || !o.joins() {
			continue
		}
		theirs := s.in.written(o.job)
		if theirs >= enough {
			return recent
		}
		all += theirs
	}
	if recent < togetherShare*all {
		return recent
	}
	return all
}

// receives reports whether the root is the full port to a host of this job alone, which moves enough to fill it: that
// load is the job's, even if neither its total nor the port's load grew, as its other traffic is held up and the port
// was full before.
func (d directed) receives(c *suspect) bool {
	if !c.known || d.back.Root.Kind != schema.RootIncast {
		return false
	}
	_, host := d.in.graph.Ends(d.back.Root.Link)
	if !c.job.Has(host) || d.in.hasOthers(host, c.job) {
		return false
	}
	all, _ := d.in.recentOf(c.job)
	return d.in.perSecond(all) >= enoughShare*d.root.carries
}

// displaced is the traffic with files, bytes, of the jobs that lost traffic at the onset of a region: a culprit leaves
// them the rest of a full port that they share.
func (s scores) displaced(culprit *job) (bytes float64) {
	for i := range s.suspects {
		if j := s.suspects[i].job; j != culprit && s.lostBy(j) >= smallLoss {
			_, files := s.in.recentOf(j)
			bytes += files
		}
	}
	return bytes
}

// endsAtNoJob reports whether the root is the full port to a host without a job: what arrives there is file traffic, of
// any job.
func (rc *regionCase) endsAtNoJob() bool {
	if rc.back.Root.Kind != schema.RootIncast {
		return false
	}
	_, host := rc.in.graph.Ends(rc.back.Root.Link)
	return !rc.in.graph.IsSwitch(host) && len(rc.in.tenants[host]) == 0
}

// endsAtJob reports whether the root of directed links is the full port to a host with a job: files that others read or
// write do not go there.
func (rc *regionCase) endsAtJob() bool {
	if rc.back.Root.Kind != schema.RootIncast {
		return false
	}
	_, host := rc.in.graph.Ends(rc.back.Root.Link)
	return len(rc.in.tenants[host]) > 0
}

// cannotEndAt reports whether more arrives for a host of the switch where stall ends than its port delivers, and none
// of a suspect's traffic ends at a host there: neither at its own nor, if it may write, at one of no job.
func (d directed) cannotEndAt(c *suspect) bool {
	if !d.back.HasSwitch() || !d.back.IsIncast() {
		return false
	}
	for _, l := range d.in.graph.LinksAt(d.back.Switch.Device) {
		_, host := d.in.graph.Ends(l)
		takes := c.job.Has(host) || len(d.in.tenants[host]) == 0 && (c.writes() || !c.filesKnown)
		if takes && !d.in.graph.IsSwitch(host) {
			return false
		}
	}
	return true
}
