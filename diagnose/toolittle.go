package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// culpritShare of the root's load is the least that a culprit moves; from enoughShare on a job has no penalty. With
// directed links routes bound what a job can have put there, so enoughBound suffices: jobs that contend for a port each get
// a part.
const culpritShare, enoughShare, enoughBound = .25, .5, .35

// nothingMoved is what is added to the penalty of a job that moves nothing of the root's load, none from half of the least share on: several
// culprits each have a part, but no evidence by time makes up for a job's having none.
const nothingMoved = .5

// tooLittlePenalty is the penalty of a suspect whose traffic, or its growth, is too little for the root's load: a
// coincidence in time does not make a cause. What arrives at a host of the job alone is the job's, wherever it comes from.
func (s scores) tooLittlePenalty(c *suspect) float64 {
	if !c.known || s.carries <= 0 || s.receives(c) || s.isPhaseOf(c) {
		return 0
	}
	all, files := s.lately(c.job)
	was, filesWas := s.earlier(c.job)
	if c.file && c.filesKnown {
		if all, was = files, filesWas; s.endsAtNoJob() {
			all, was = s.written(c.job)
		}
	}
	interval := float64(s.history.Clock.Duration) / 1e9
	if end, known := s.end(); known && s.graph.Duplex() {
		grew := all - was*c.job.was.ran // links were compared with the mean of all slots
		switch {
		case s.full != schema.NoLink && (c.file || s.routesOf(c.job).On(s.full) > 0): // the region does not end at the switch
			more, _ := s.averaged(s.p).Added(s.full)
			return addsTooLittle(s.withOthers(c, grew)/interval, more)
		case s.endsAtOwn(c): // what it sends there may hold up its other traffic, so its total need not grow
			grew = all
		case (!c.file || !c.writes() && s.drain.IsCertain()) && s.endsBeside(c.job):
			grew = min(grew, s.brings(end, c.job, grew))
		}
		if more := s.averaged(s.p).ArrivesMore(end); more > 0 {
			return addsTooLittle(s.withOthers(c, grew)/interval, more)
		}
	}
	least, enough, carries := culpritShare, enoughShare, s.carries
	if most := s.boundOn(c.job, s.fullest, c.file || !c.filesKnown); most.known {
		enough = enoughBound
		all, was = min(all, most.now*interval), min(was, most.before*interval)
	}
	if c.file && s.endsAtNoJob() {
		least, enough, carries = addedShare, addedEnough, max(1, carries-s.displaced(c.job)/interval)
		all, was = s.withWriters(c, all, was, addedEnough*carries*interval)
	}
	short := func(bytes, of float64) float64 {
		share := bytes / interval / of
		return min(1, max(0, (enough-share)/(enough-least))) + nothingMoved*max(0, 1-2*share/least)
	}
	against := jobTooLittle * short(all, carries)
	if s.more > grownShare*s.carries && s.explains(c) == 0 {
		against = max(against, jobGrewTooLittle*short(all-was, s.more))
	}
	return against
}

// Load, relative to before the onset, up to which a region of a grid shows that no file traffic was added to it, and from which it may
// have been.
const filesAddNone, filesMayAdd = .95, 1.05

// addsNone is the penalty of a suspect for its file traffic if neither the links of a region of a grid nor those of the switch where its
// traffic ends carry more than before the onset: reads and writes congest by what they add, and a host that takes little lets less arrive.
func (s scores) addsNone(c *suspect) float64 {
	if !c.file || !c.known || s.load <= 0 {
		return 0
	}
	return jobTooLittle * max(0, min(1, (filesMayAdd-max(s.load, s.arrives))/(filesMayAdd-filesAddNone)))
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

// Of what jobs with files that rose by togetherRise at the onset added together, togetherShare is the least of one of several culprits:
// of three at one storage node each has a third.
const togetherShare, togetherRise = culpritShare, .5

// withOthers is what a suspect adds where a region of a grid ends, bytes. Jobs with files at one storage node add together what none
// of them does alone.
func (s scores) withOthers(c *suspect, grew float64) float64 {
	if !c.joins() {
		return grew
	}
	all := grew
	for i := range s.jobs {
		if o := &s.jobs[i]; o.job != c.job && o.joins() {
			_, files := s.lately(o.job)
			_, was := s.earlier(o.job)
			all += max(0, files-was*o.job.was.ran)
		}
	}
	if grew < togetherShare*all {
		return grew
	}
	return all
}

// joins reports whether a suspect's file traffic rose at the onset.
func (c *suspect) joins() bool { return c.file && c.filesKnown && c.rise >= togetherRise }

// withWriters is what a suspect writes to a full port of a host of no job, and did before the onset, bytes, with other writers that
// rose with it, unless one of them writes enough alone.
func (s scores) withWriters(c *suspect, now, was, enough float64) (all, before float64) {
	all, before = now, was
	if !c.joins() || now >= enough {
		return all, before
	}
	for i := range s.jobs {
		o := &s.jobs[i]
		if o.job == c.job || !o.joins() {
			continue
		}
		theirs, earlier := s.written(o.job)
		if theirs >= enough {
			return now, was
		}
		all, before = all+theirs, before+earlier
	}
	if now < togetherShare*all {
		return now, was
	}
	return all, before
}

// receives reports whether the root is the full port to a host of this job alone, which moves enough to fill it: that load is the
// job's, even if neither its total nor the port's load grew, as its other traffic is held up and the port was full before.
func (rc *regionCase) receives(c *suspect) bool {
	if !c.known || rc.back.Root.Kind != schema.RootIncast {
		return c.known && (rc.takesAdded(c) || rc.concentrates(c))
	}
	_, host := rc.graph.Ends(rc.back.Root.Link)
	if !c.job.Has(host) || rc.hasOthers(host, c.job) || c.cross < clearWay && !rc.feeds(c) {
		return false
	}
	all, _ := rc.lately(c.job)
	return all*1e9/float64(rc.history.Clock.Duration) >= enoughShare*rc.carries
}

// feeds reports whether a job, on whose exchange little of the stall lies, may have sent culpritShare of what was added to the full port to
// one of its hosts: as far as its hosts send more, it moves more, or it read files, which may arrive long after it asked for them. Otherwise
// hosts of another job, which may be in no table, send to that host.
func (rc *regionCase) feeds(c *suspect) bool {
	if rc.graph.Duplex() || rc.router.Paths == nil || rc.onset < 0 || rc.more <= grownShare*rc.carries || !rc.measuresHosts(c.job) {
		return true
	}
	now, _ := rc.lately(c.job)
	was, _ := rc.earlier(c.job)
	reads, _ := rc.maximum(c.job, history.Read)
	may := max(now-was, reads)*1e9/float64(rc.history.Clock.Duration) + rc.boundOn(c.job, rc.back.Root.Link, false).more
	return may >= culpritShare*rc.more
}

// takesShare of what was added to a full link must arrive in addition at the hosts of one job for it to be that job's.
const takesShare = .75

// takesAdded reports whether the hosts of a job that mostly reads or writes files take in what was added to a full link down a tree since
// the onset, and no failed link explains that: a table counts reads when they are asked for, ports when they arrive.
func (rc *regionCase) takesAdded(c *suspect) bool {
	all, files := rc.lately(c.job)
	l := rc.back.Root.Link
	if files < enoughShare*all || rc.back.Root.Kind != schema.RootLinkCapacity || rc.back.Root.Slower || !rc.back.Root.IsFull() || rc.more <= grownShare*rc.carries || rc.moved > 1-takesShare || rc.router.Paths == nil {
		return false
	}
	from, to := rc.graph.Ends(l)
	if below := rc.graph.Device(to).Level; below < 0 || rc.graph.Device(from).Level <= below {
		return false
	}
	if rc.takenMore == 0 {
		rc.takenMore = max(rc.more, rc.takeMore(rc.hosts, l))
	}
	return rc.takeMore(c.job.Devices, l) >= takesShare*rc.takenMore
}

// takeMore sums what hosts behind a link down a tree take in more than before the onset, bytes/s.
func (rc *regionCase) takeMore(hosts []topology.DeviceID, l schema.LinkID) float64 {
	taken := bound{}
	for _, d := range hosts {
		if rc.graph.IsSwitch(d) || !rc.router.Paths.LeadTo(rc.router.LeafOf(d), l) {
			continue
		}
		for _, own := range rc.graph.LinksAt(d) {
			if _, at := rc.graph.Ends(own); at == d {
				taken.add(rc.p, own, rc.graph.Capacity(own))
			}
		}
	}
	return taken.more
}

// displaced is the traffic with files, bytes, of the jobs that lost traffic at the onset of a region: a culprit leaves them the rest
// of a full port that they share.
func (s scores) displaced(culprit *job) (bytes float64) {
	for i := range s.jobs {
		if j := s.jobs[i].job; j != culprit && s.lostBy(j) >= smallLoss {
			_, files := s.lately(j)
			bytes += files
		}
	}
	return bytes
}

// endsAtNoJob reports whether the root is the full port to a host without a job: what arrives there is file traffic, of any job.
func (rc *regionCase) endsAtNoJob() bool {
	if rc.back.Root.Kind != schema.RootIncast {
		return false
	}
	_, host := rc.graph.Ends(rc.back.Root.Link)
	return !rc.graph.IsSwitch(host) && len(rc.tenants[host]) == 0
}

// endsAtJob reports whether the root of directed links is the full port to a host with a job: files that others read or write do not
// go there.
func (rc *regionCase) endsAtJob() bool {
	if rc.back.Root.Kind != schema.RootIncast || rc.graph.Duplex() {
		return false
	}
	_, host := rc.graph.Ends(rc.back.Root.Link)
	return len(rc.tenants[host]) > 0
}

// cannotEndAt reports whether more arrives for a host of the switch where stall ends than its port delivers, and none of a suspect's traffic
// ends at a host there: neither at its own nor, if it may write, at one of no job.
func (rc *regionCase) cannotEndAt(c *suspect) bool {
	if !rc.back.HasSwitch() || !rc.back.IsIncast() {
		return false
	}
	for _, l := range rc.graph.LinksAt(rc.back.Switch.Device) {
		_, host := rc.graph.Ends(l)
		if !rc.graph.IsSwitch(host) && (c.job.Has(host) || len(rc.tenants[host]) == 0 && (c.writes() || !c.filesKnown)) {
			return false
		}
	}
	return true
}
