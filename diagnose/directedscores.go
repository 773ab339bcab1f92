package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// endScore is the evidence by where back pressure begins.
func (d directed) endScore(c *suspect) (score float64) {
	if d.back.HasRoot() && d.back.Root.Kind != schema.RootDeadlock && !c.atRoot && (!c.file || d.endsAtJob()) {
		switch {
		case c.filesKnown && (d.endsAtNoJob() || d.endsAtJob()):
			// its exchange does not lead there, nor does its traffic with files, if any
			score = -jobTooLittle * (1 - c.leaves)
		case !d.endsAtNoJob():
			score = -jobElsewhere * (1 - c.leaves)
		}
	}
	switch {
	case d.cannotEndAt(c):
		score -= jobElsewhere
	case d.receives(c):
		score += jobReceives * (1 - d.rerouted)
	}
	return score + jobReceives*c.leaves
}

// receives reports whether the root is the full port to a host of this job alone, which moves enough to fill it: that
// load is the job's, even if neither its total nor the port's load grew, as its other traffic is held up and the port
// was full before. If only the switch is known, it is the port to a host of a job that moves what one port carries, or
// a few.
func (d directed) receives(c *suspect) bool {
	host, known := d.fullPortTo()
	if !known {
		return d.movesFullPorts(c)
	}
	if !c.known || !c.job.Has(host) || d.in.hasOthers(host, c.job) {
		return false
	}
	return d.in.perSecond(d.in.recentOf(c.job).all) >= enoughShare*d.root.carries
}

// fillsItself reports whether the root is the full port to a host of this job alone, of which what the job reads from
// files can fill less than half, and what it writes nothing: its nodes fill it.
func (rc *regionCase) fillsItself(c *suspect) bool {
	host, known := rc.fullPortTo()
	return known && c.job.Has(host) && !rc.in.hasOthers(host, c.job) && (c.job.Traffic == nil ||
		rc.in.perSecond(rc.in.recentOfFeature(c.job, history.Read)) < rc.root.carries/2)
}

// onePort is by how much what a job moves may differ from what a port carries if the port lets no more through;
// mostPorts is of how many such ports the sum shows.
const onePort, mostPorts = .1, 4

// movesFullPorts reports whether, at an incast at a switch whose port is not known, a job moves less than before the
// onset, and since then as much as the port to one of its own hosts there carries, or constantly as much as a few such
// ports: all of it is for as many hosts.
func (d directed) movesFullPorts(c *suspect) bool {
	if !c.known || !d.back.HasSwitch() || !d.back.IsIncast() || d.lostBy(c.job) < smallLoss {
		return false
	}
	now := d.in.history.Clock.Now
	since := c.job.Traffic.MovedIn(d.in.scratch.since[:0], c.job.lost.baseline.main,
		max(d.timeline.began()+1, now-lastIntervals+1), now)
	d.in.scratch.since = since
	if len(since) == 0 {
		return false
	}
	moves := d.in.perSecond(meanOf(since))
	spread := spreadOf(since, 0)
	isFlat := spread.count >= flatIntervals && spread.scale <= flatShare*spread.median
	return slices.ContainsFunc(d.in.graph.LinksAt(d.back.Switch.Device), func(l schema.LinkID) bool {
		_, host := d.in.graph.Ends(l)
		ports := moves / d.in.graph.Capacity(l)
		whole := max(1, math.Round(ports))
		return c.job.Has(host) && !d.in.hasOthers(host, c.job) && math.Abs(ports-whole) <= onePort &&
			(whole == 1 || isFlat && whole <= mostPorts)
	})
}

// endsAtNoJob reports whether the root is the full port to a host without a job: what arrives there is file traffic, of
// any job.
func (rc *regionCase) endsAtNoJob() bool {
	host, known := rc.fullPortTo()
	return known && !rc.in.graph.IsSwitch(host) && len(rc.in.tenants[host]) == 0
}

// endsAtJob reports whether the root of directed links is the full port to a host with a job: files that others read or
// write do not go there.
func (rc *regionCase) endsAtJob() bool {
	host, known := rc.fullPortTo()
	return known && len(rc.in.tenants[host]) > 0
}

// fullPortTo is the device to which the root leads, if that is a full port.
func (rc *regionCase) fullPortTo() (at topology.DeviceID, known bool) {
	if rc.back.Root.Kind != schema.RootIncast {
		return 0, false
	}
	_, at = rc.in.graph.Ends(rc.back.Root.Link)
	return at, true
}

// cannotEndAt reports whether more arrives for a host of the switch where stall ends than its port delivers, and none
// of a suspect's traffic ends at a host there: neither at its own nor, if it may write, at one of no job. If hardly any
// hosts but its own wait to send into the region, their traffic does end there, whosever host that is.
func (d directed) cannotEndAt(c *suspect) bool {
	if !d.back.HasSwitch() || !d.back.IsIncast() || d.allWaitIsOf(c.job) {
		return false
	}
	if at := d.back.Switch.Device; d.in.router.Grid != nil {
		return !c.job.Has(at) && (len(d.in.tenants[at]) > 0 || c.filesKnown && !c.writes())
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

// fillsByFiles reports whether a suspect writes enough for its files to fill the port to a host of no job for which a
// region waits: what arrives there is written by somebody, and files that are written all the time, or since long
// before or after an onset, rise at none.
func (rc *regionCase) fillsByFiles(c *suspect) bool {
	if !c.filesKnown || !rc.endsAtNoJob() {
		return false
	}
	return rc.in.perSecond(rc.in.written(c.job)) >= culpritShare*rc.root.carries
}
