package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// ownShare of a region's stall is on links of one job's own exchange for it to be in its own way, on a tree.
	ownShare = .6
	// ownBurden of the region's traffic must be its own, on a tree, and ownGround of the region's links have no node of
	// another job at their ends.
	ownBurden, ownGround = .9, .7
	// othersWait is from which share on, of the nodes that wait for a region of a grid, others are held up as well.
	othersWait = .3
	// Where loads before the onset say who else uses the links: a job that moved littleBefore of what it moves now had no
	// part in them; noLoad, percent of capacity, is noise. Others are in the way if they have othersOnOne of what some link
	// carries (a tenth and a fifth give the same verdicts) and othersOnAll of the region's as a mean. halfGround of the region's
	// links without nodes of others is enough, as what these send is measured.
	littleBefore, noLoad, othersOnOne, othersOnAll, halfGround = .05, 2, .15, .01, .5
	// A job that moves leastRaise times what it did before is alone if others have less than othersOnRaise.
	leastRaise, othersOnRaise = 3, .05
	// On links of which halfGround have no node of others, mostOwnWait of a job's hosts must wait, and fewOthersWait of the hosts
	// that do may be others', for it to be in its own way, whatever else is on the links.
	mostOwnWait, fewOthersWait = .6, .2
	// withOthers of what was added to a job's traffic is exchanged with others from when on it is not its own pattern.
	withOthers = .5
)

// onTree reports whether the switch of a job's first node leads to others only above it.
func (s *Stage) onTree(j *job) bool {
	leaf := s.router.LeafOf(j.devices[0])
	return !slices.ContainsFunc(s.graph.LinksAt(leaf), func(l schema.LinkID) bool {
		from, to := s.graph.Ends(l)
		return from == leaf && s.graph.IsSwitch(to) && s.graph.Device(to).Level <= s.graph.Device(leaf).Level
	})
}

// ground is the share of a region's links that have no node of another job than one at either end.
func (rc *regionCase) ground(s *Stage, own *job) float64 {
	mine := 0
	for _, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		if !s.strangers(from, own) && !s.strangers(to, own) {
			mine++
		}
	}
	return float64(mine) / float64(len(rc.region.Links))
}

// strangers reports whether a device is a node of another job, or the switch of one. A job that was requeued is itself.
func (s *Stage) strangers(d topology.DeviceID, own *job) bool {
	return slices.ContainsFunc(s.work.tenants[d], func(j *job) bool { return j.ID != own.ID })
}

// classOf distinguishes load on the system from intra-application congestion: one job, which does not talk to the file system
// or other hosts and has the region to itself.
func (s *Stage) classOf(rc *regionCase, accused int, p *root.Pressure) schema.CauseClass {
	c := &rc.jobs[0]
	if accused == 1 && !c.file && s.ownsRegion(rc, c, p) {
		return schema.CauseIntraApplication
	}
	return schema.CauseSystem
}

// ownsRegion reports whether a job carries most of what is on a region and others have no part in it. On a grid back pressure
// reaches links that its own exchange does not use, so that who waits there says most.
func (s *Stage) ownsRegion(rc *regionCase, c *suspect, p *root.Pressure) bool {
	if s.router.Grid != nil {
		return rc.othersShare(c.job) < othersWait
	}
	if s.external(c.job, p) > withOthers || c.cross < ownShare {
		return false
	}
	if rc.ground(s, c.job) >= halfGround && s.onlyOwnWait(rc, c.job, p) {
		return true
	}
	if s.stopsOthers(rc, c.job) {
		return false
	}
	if alone, known := s.alone(rc, c, p); alone || known && s.onTree(c.job) {
		return alone
	}
	return (c.burden <= 0 || c.burden >= ownBurden) && rc.ground(s, c.job) >= ownGround
}

// othersShare is, of the nodes that wait for a region in their exchanges, the share that is not a job's; 1 where none does. A
// node counts by its wait, and by the square of it where something always waits, as for a full link: what stalls there stalls for
// all of the time in which it does not send, and who sends little over it is hardly slower for that.
func (rc *regionCase) othersShare(own *job) float64 {
	others, all := 0., 0.
	for i := range rc.jobs {
		c := &rc.jobs[i]
		wait := c.waits * float64(len(c.job.devices))
		if !rc.drain.Idle || rc.full != schema.NoLink {
			wait *= c.waits
		}
		if all += wait; c.job.ID != own.ID {
			others += wait
		}
	}
	if all == 0 {
		return 1
	}
	return others / all
}

// alone reports whether a job that began to send with the onset, or sends many times what it did, has the region's links to
// itself: what they carried before, less its own part of that, is others', and goes on where routes do not change. It is known
// if most of the region's links were measured before and now, and so was the job. On other fabrics than trees, where routes may
// avoid what is full, and of a job that raised its rate, not all of whose links grow alike, only that it is alone.
func (s *Stage) alone(rc *regionCase, c *suspect, p *root.Pressure) (alone, known bool) {
	if rc.onset < 0 || !c.known {
		return false, false
	}
	now, _ := s.lately(c.job)
	was, _ := s.earlier(rc, c.job)
	grew, began := now/was, c.started || was <= littleBefore*now
	if !began && grew < leastRaise {
		return false, false
	}
	measured, most, sum := 0., 0., 0. // of the shares of others
	for _, l := range rc.region.Links {
		was, now := p.Before(l), p.UseOf(l)
		if was >= 0 && now >= 0 {
			measured++
			of := max(was, now)
			if !began {
				was -= max(0, now-was) / (grew - 1)
			}
			if was >= noLoad {
				others := was / of
				most, sum = max(most, others), sum+others
			}
		}
	}
	measures := measured >= mostHosts*float64(len(rc.region.Links)) && rc.ground(s, c.job) >= halfGround
	if !began {
		alone = measures && sum < othersOnRaise*measured
		return alone, alone
	}
	shared := most >= othersOnOne && sum >= othersOnAll*measured
	return measures && !shared, measured >= mostHosts*float64(len(rc.region.Links))
}

// onlyOwnWait reports whether most hosts of a job wait for what they send, and of the hosts that wait with the region few are not
// its own.
func (s *Stage) onlyOwnWait(rc *regionCase, own *job, p *root.Pressure) bool {
	mine, others := 0, 0
	for _, d := range own.devices {
		for _, l := range s.graph.LinksAt(d) {
			if from, _ := s.graph.Ends(l); from == d && p.StallOf(l) >= schema.LowPercent {
				mine++
				break
			}
		}
	}
	for _, l := range rc.region.Links {
		from, _ := s.graph.Ends(l)
		if _, own := slices.BinarySearch(own.devices, from); !own && !s.graph.IsSwitch(from) && p.StallOf(l) >= schema.LowPercent {
			others++
		}
	}
	return float64(mine) >= mostOwnWait*float64(len(own.devices)) && float64(others) <= fewOthersWait*float64(mine+others)
}

// stopsOthers reports whether the region has a link of a host of another job than one that moves something: whatever
// routes the fabric takes, that job waits too.
func (s *Stage) stopsOthers(rc *regionCase, own *job) bool {
	sends := func(j *job) bool {
		all, _ := s.lately(j)
		return j.ID != own.ID && all > 0
	}
	for _, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if !s.graph.IsSwitch(d) && slices.ContainsFunc(s.work.tenants[d], sends) {
				return true
			}
		}
	}
	return false
}
