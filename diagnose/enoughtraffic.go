package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// culpritShare of the root's load is the least that a culprit moves; from enoughShare on a job has no penalty. With
// directed links routes bound what a job can have put there, so enoughBound suffices: jobs that contend for a port each
// get a part.
const culpritShare, enoughShare, enoughBound = .25, .5, .35

// tooLittlePenalty is the penalty of a suspect whose traffic, or its growth, is too little for the root's load: a
// coincidence in time does not make a cause. What arrives at a host of the job alone is the job's, wherever it comes
// from.
func (s scores) tooLittlePenalty(c *suspect) float64 {
	if !c.known || s.root.carries <= 0 || s.ground().receives(c) || s.isPhaseOf(c) {
		return 0
	}
	all, files := s.in.recentOf(c.job)
	baseline, baselineFiles := s.baselineOf(c.job)
	if c.file && c.filesKnown {
		if all, baseline = files, baselineFiles; s.endsAtNoJob() {
			all, baseline = s.written(c.job)
		}
	}
	interval := float64(s.in.history.Clock.Duration) / 1e9
	if penalty, known := s.ground().tooLittleAtEnd(c, all, baseline); known {
		return penalty
	}
	least, enough, carries := culpritShare, enoughShare, s.root.carries
	if most := s.boundOn(c.job, s.root.link, c.file || !c.filesKnown); most.known {
		enough = enoughBound
		all, baseline = min(all, most.recent*interval), min(baseline, most.baseline*interval)
	}
	if c.file && s.endsAtNoJob() {
		least, enough, carries = addedShare, addedEnough, max(1, carries-s.displaced(c.job)/interval)
		all, baseline = s.withWriters(c, all, baseline, addedEnough*carries*interval)
	}
	against := jobTooLittle * shortOf(all/interval/carries, least, enough)
	if s.root.added > grownShare*s.root.carries && s.explains(c) == 0 {
		against = max(against, jobGrewTooLittle*shortOf((all-baseline)/interval/s.root.added, least, enough))
	}
	return against
}

// shortOf is how far a job's share of a load is from enough: 1 at the least of a culprit, more from half of that down.
func shortOf(share, least, enough float64) float64 {
	return min(1, max(0, (enough-share)/(enough-least))) + nothingMoved*max(0, 1-2*share/least)
}

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
	return jobTooLittle * min(1, max(0, (addedEnough-adds/more)/(addedEnough-addedShare)))
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

// withWriters is what a suspect writes to a full port of a host of no job, and did before the onset, bytes, with other
// writers that rose with it, unless one of them writes enough alone.
func (s scores) withWriters(c *suspect, recent, baseline, enough float64) (all, baselineOfAll float64) {
	all, baselineOfAll = recent, baseline
	if !c.joins() || recent >= enough {
		return all, baselineOfAll
	}
	for i := range s.suspects {
		o := &s.suspects[i]
		if o.job == c.job || !o.joins() {
			continue
		}
		theirs, theirBaseline := s.written(o.job)
		if theirs >= enough {
			return recent, baseline
		}
		all, baselineOfAll = all+theirs, baselineOfAll+theirBaseline
	}
	if recent < togetherShare*all {
		return recent, baseline
	}
	return all, baselineOfAll
}

// receives reports whether the root is the full port to a host of this job alone, which moves enough to fill it: that
// load is the job's, even if neither its total nor the port's load grew, as its other traffic is held up and the port
// was full before.
func (d directed) receives(c *suspect) bool {
	if !c.known || d.back.Root.Kind != schema.RootIncast {
		return c.known && d.takesAdded(c)
	}
	_, host := d.in.graph.Ends(d.back.Root.Link)
	if !c.job.Has(host) || d.in.hasOthers(host, c.job) || c.cross < clearWay && !d.feeds(c) {
		return false
	}
	all, _ := d.in.recentOf(c.job)
	return d.in.perSecond(all) >= enoughShare*d.root.carries
}

// feeds reports whether a job, on whose exchange little of the stall lies, may have sent culpritShare of what was added
// to the full port to one of its hosts: as far as its hosts send more, it moves more, or it read files, which may
// arrive long after it asked for them. Otherwise hosts of another job, which may be in no table, send to that host.
func (d directed) feeds(c *suspect) bool {
	if d.in.router.Paths == nil || !d.timeline.hasOnset() || d.root.added <= grownShare*d.root.carries ||
		!d.in.measuresHosts(c.job) {
		return true
	}
	recent, _ := d.in.recentOf(c.job)
	baseline, _ := d.baselineOf(c.job)
	reads, _ := d.in.maximum(c.job, history.Read)
	may := d.in.perSecond(max(recent-baseline, reads)) + d.boundOn(c.job, d.back.Root.Link, false).added
	return may >= culpritShare*d.root.added
}

// takesShare of what was added to a full link must arrive in addition at the hosts of one job for it to be that job's.
const takesShare = .75

// takesAdded reports whether the hosts of a job that mostly reads or writes files take in what was added to a full link
// down a tree since the onset, and no failed link explains that: a table counts reads when they are asked for, ports
// when they arrive.
func (d directed) takesAdded(c *suspect) bool {
	return d.addedBelow > 0 && d.in.mostlyFiles(c.job) &&
		d.takeMore(c.job.Devices, d.back.Root.Link) >= takesShare*d.addedBelow
}

// mostlyFiles reports whether a job mostly reads or writes files.
func (in *interval) mostlyFiles(j *job) bool {
	all, files := in.recentOf(j)
	return files >= enoughShare*all
}

// findAddedBelow finds what hosts behind a root that is full down a tree take in more since the onset, if a job that
// mostly reads or writes files is a suspect.
func (rc *regionCase) findAddedBelow() {
	if rc.isFullDownTree() && slices.ContainsFunc(rc.suspects, func(c suspect) bool {
		return rc.in.mostlyFiles(c.job)
	}) {
		rc.addedBelow = max(rc.root.added, rc.takeMore(rc.in.hosts, rc.back.Root.Link))
	}
}

// isFullDownTree reports whether the root is a link down a tree that is full since the onset, and no failed link
// explains that.
func (rc *regionCase) isFullDownTree() bool {
	if rc.back.Root.Kind != schema.RootLinkCapacity || rc.back.Root.Slower || !rc.back.Root.IsFull() ||
		rc.root.added <= grownShare*rc.root.carries || rc.rerouted > 1-takesShare || rc.in.router.Paths == nil {
		return false
	}
	from, to := rc.in.graph.Ends(rc.back.Root.Link)
	below := rc.in.graph.Device(to).Level
	return below >= 0 && rc.in.graph.Device(from).Level > below
}

// takeMore sums what hosts behind a link down a tree take in more than before the onset, bytes/s.
func (rc *regionCase) takeMore(hosts []topology.DeviceID, l schema.LinkID) float64 {
	taken := bound{}
	for _, d := range hosts {
		if rc.in.graph.IsSwitch(d) || !rc.in.router.Paths.LeadTo(rc.in.router.LeafOf(d), l) {
			continue
		}
		for _, own := range rc.in.graph.LinksAt(d) {
			if _, at := rc.in.graph.Ends(own); at == d {
				taken.add(rc.in.use(own), rc.baselineUse(own), rc.in.graph.Capacity(own))
			}
		}
	}
	return taken.added
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
