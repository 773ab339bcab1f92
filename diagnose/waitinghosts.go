package diagnose

import (
	"iter"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A suspect has a part in a region of directed links if it moves partShare of the region's traffic, or its hosts wait
// for that share of the time for which hosts wait to send into it. With no more than noPart the penalty is full.
// Of file traffic that may only pass, they are filesShare and fewFiles: it has paths nearly everywhere.
const partShare, noPart, filesShare, fewFiles = .05, .02, .2, .1

// noPartPenalty is the penalty of a suspect that has next to no part in a region of directed links: whatever its
// traffic did in time, others' traffic waits there. Of a job without traffic data only who waits shows that.
func (d directed) noPartPenalty(c *suspect) float64 {
	share, none := partShare, noPart
	if c.file && !c.atRoot {
		share, none = filesShare, fewFiles
	}
	if !d.in.comparable || c.share >= share || d.waiting {
		return 0
	}
	part := c.share
	own, _, all := d.hostWaits(c.job)
	if all > 0 {
		part = max(part, own/all)
	}
	if !c.known && all == 0 {
		return 0
	}
	return jobAbsent * shortOf(part, none, share)
}

// waitingHosts yields the hosts that wait to send into a region of directed links, with the share of the time.
func (rc *regionCase) waitingHosts() iter.Seq2[topology.DeviceID, float64] {
	return func(yield func(topology.DeviceID, float64) bool) {
		for k, l := range rc.region.Links {
			if from, _ := rc.in.graph.Ends(l); !rc.in.graph.IsSwitch(from) && !yield(from, rc.waits[k]) {
				return
			}
		}
	}
}

// hostWaits is the time for which the hosts of a job, of no listed job, and all hosts, wait to send into a region of
// directed links.
func (rc *regionCase) hostWaits(j *job) (own, unlisted, all float64) {
	for host, waits := range rc.waitingHosts() {
		all += waits
		switch {
		case j.Has(host):
			own += waits
		case len(rc.in.tenants[host]) == 0:
			unlisted += waits
		}
	}
	return own, unlisted, all
}

// allWaitIsOf reports whether hosts wait to send into a region of directed links, and hardly any but a job's.
func (rc *regionCase) allWaitIsOf(j *job) bool {
	own, _, all := rc.hostWaits(j)
	return all > 0 && own >= nearlyAllWaits*all
}

// sendPart is the part of a job's hosts in the time for which hosts of listed jobs wait to send into a region of
// directed links; 1 if none do.
func (rc *regionCase) sendPart(j *job) float64 {
	own, unlisted, all := rc.hostWaits(j)
	if all <= unlisted {
		return 1
	}
	return own / (all - unlisted)
}

// Without load readings, a suspect's part of the time for which hosts wait to send into a region of directed links
// counts: jobSends for each factor of e between it and usualPart, from which on suspects are guilty more often than not
// in three simulators (filePart for files, as several jobs share a port to a storage node). A small part counts against
// it, up to jobAbsent. A large one says where load comes from, not why it waits: it counts for it only if more arrives
// for a host than its port delivers, and as far as the suspect's traffic rose at the onset, fully if that is not known.
const usualPart, filePart = .2, usualPart / 2

// sendScore is that of a suspect. What it reads waits at storage nodes, which are hosts of no listed job. What else
// these have a part in counts for an unlisted job, not against the suspect.
func (rc *regionCase) sendScore(c *suspect) float64 {
	if !rc.waiting {
		return rc.startScore(c)
	}
	own, unlisted, all := rc.hostWaits(c.job)
	part, listed, least := own/all, all-unlisted, usualPart
	if part >= usualPart {
		if !rc.back.IsIncast() {
			return 0
		}
		rose := 1.
		if c.known {
			rose = c.evidence.rise
		}
		return rose * jobSends * math.Log(part/usualPart)
	}
	if c.file {
		least = filePart
	}
	switch {
	case c.file && (c.feature == history.Read || c.feature == history.RDMARead):
		part += unlisted / all
	case listed <= 0:
		return 0
	default:
		part = own / listed
	}
	return max(-jobAbsent, min(0, jobSends*math.Log(part/least)))
}

// findWaits finds whether hosts are seen to wait to send into a region whose load is not measured. If a job's traffic
// is unknown, its part of that time is its part of the region's traffic.
func (d directed) findWaits() {
	if d.in.measuresLoad {
		return
	}
	all := 0.
	for _, waits := range d.waitingHosts() {
		all += waits
	}
	if d.waiting = all > 0; !d.waiting {
		d.findStarts()
		return
	}
	for i := range d.suspects {
		c := &d.suspects[i]
		if c.job.Traffic != nil && !d.in.measuresFilesOnly(c.job) {
			continue
		}
		own, _, _ := d.hostWaits(c.job)
		c.share = own / all
	}
}

// Where no host is seen to wait, as hosts hold packets back before their links, traffic is seen to wait first before
// links from the switches of the senders' hosts. At an incast nearly all of it is a single culprit's, and most of it is
// one's of two: startPart is the least. Less than leastStart of the highest stall of the region says nothing.
const startPart, leastStart = .75, .25

// findStarts lists the links of a region, by index, that lead up a tree from a switch into which none of its links
// leads from below: there its traffic comes from.
func (d directed) findStarts() {
	for k, l := range d.region.Links {
		if d.leadsUp(l) && !slices.ContainsFunc(d.in.graph.LinksAt(d.fromOf(l)), func(before schema.LinkID) bool {
			_, inRegion := slices.BinarySearch(d.region.Links, before)
			return inRegion && d.leadsUp(before) && d.fromOf(before) != d.fromOf(l)
		}) {
			d.starts = append(d.starts, k)
		}
	}
}

// fromOf is the device that a link leaves.
func (rc *regionCase) fromOf(l schema.LinkID) topology.DeviceID {
	from, _ := rc.in.graph.Ends(l)
	return from
}

// leadsUp reports whether a link leads from a switch of a tree to one of a higher level.
func (rc *regionCase) leadsUp(l schema.LinkID) bool {
	from, to := rc.in.graph.Ends(l)
	level := rc.in.graph.Device(from).Level
	return level > 0 && rc.in.graph.IsSwitch(from) && rc.in.graph.Device(to).Level > level
}

// startScore is that of a suspect by the part of its switches in the waiting of an incast that starts there. What it
// reads, which is not known without traffic data, may come from any hosts of no listed job.
func (rc *regionCase) startScore(c *suspect) float64 {
	own, _, all := rc.startWaits(c)
	if all == 0 {
		return 0
	}
	return max(-jobTooLittle, min(0, jobStarts*math.Log(own/all/startPart)))
}

// startWaits is the waiting of an incast that starts at the switches of a suspect, at others with a host of no listed
// job, and at all; 0 if that says nothing.
func (rc *regionCase) startWaits(c *suspect) (own, unlisted, all float64) {
	if len(rc.starts) == 0 || !rc.back.IsIncast() {
		return 0, 0, 0
	}
	fetches := !c.onlySends() && rc.hasHostAtEnd(c.job)
	for _, k := range rc.starts {
		all += rc.waits[k]
		switch l := rc.region.Links[k]; {
		case rc.in.isAt(c.job, l):
			own += rc.waits[k]
		case !rc.in.hasUnlistedHost(rc.fromOf(l)):
		case fetches:
			own += rc.waits[k]
		default:
			unlisted += rc.waits[k]
		}
	}
	if all < leastStart*slices.Max(rc.waits) {
		return 0, 0, 0
	}
	return own, unlisted, all
}

// onlySends reports whether all that a suspect can add to a region leaves its own hosts: what it reads by RDMA may come
// from elsewhere.
func (c *suspect) onlySends() bool {
	return c.known && (c.feature == history.Write || c.feature == history.RDMAWrite)
}

// hasHostAtEnd reports whether a job has a host at the switch of an incast: only there can what it reads wait.
func (rc *regionCase) hasHostAtEnd(j *job) bool {
	at := rc.back.Switch.Device
	if rc.back.Root.Kind == schema.RootIncast {
		at = rc.fromOf(rc.back.Root.Link)
	}
	if rc.in.router.Grid != nil {
		return j.Has(at)
	}
	return slices.ContainsFunc(rc.in.graph.LinksAt(at), func(l schema.LinkID) bool { return j.Has(rc.fromOf(l)) })
}

// hasUnlistedHost reports whether hosts of no listed job are at a switch of a tree, or below it.
func (in *interval) hasUnlistedHost(at topology.DeviceID) bool {
	return slices.ContainsFunc(in.graph.LinksAt(at), func(l schema.LinkID) bool {
		from, _ := in.graph.Ends(l)
		if !in.graph.IsSwitch(from) {
			return len(in.tenants[from]) == 0
		}
		return in.graph.Device(from).Level < in.graph.Device(at).Level && in.hasUnlistedHost(from)
	})
}
