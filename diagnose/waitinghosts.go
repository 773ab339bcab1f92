package diagnose

import (
	"iter"
	"math"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// A suspect has a part in a region of directed links if it moves partShare of the region's traffic, or its hosts wait
// for that share of the time for which hosts wait to send into it. With no more than noPart the penalty is full.
const partShare, noPart = .05, .02

// noPartPenalty is the penalty of a suspect that has next to no part in a region of directed links: whatever its
// traffic did in time, others' traffic waits there. Of a job without traffic data only who waits shows that.
func (d directed) noPartPenalty(c *suspect) float64 {
	if !d.in.comparable || c.share >= partShare || d.waiting {
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
	return jobAbsent * max(0, min(1, (partShare-part)/(partShare-noPart)))
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
// it, up to jobAbsent. A large one says where load comes from, not why it waits: only if more arrives for a host than
// its port delivers, and nothing else is known of the suspect, it counts for it.
const usualPart, filePart = .2, usualPart / 2

// sendScore is that of a suspect. What it reads waits at storage nodes, which are hosts of no listed job. What else
// these have a part in counts for an unlisted job, not against the suspect.
func (rc *regionCase) sendScore(c *suspect) float64 {
	if !rc.waiting {
		return 0
	}
	own, unlisted, all := rc.hostWaits(c.job)
	part, listed, least := own/all, all-unlisted, usualPart
	if part >= usualPart {
		if c.known || !rc.back.IsIncast() {
			return 0
		}
		return jobSends * math.Log(part/usualPart)
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
