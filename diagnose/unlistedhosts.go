package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// unlistedPart is the part that hosts of no listed job have in a region of directed links, as a multiple of that of the
// accused: the blame of a job that no table lists. All that speaks in time for the accused speaks for these hosts, too.
// The part is what they may have added to the region's root since its onset, with what the traffic table does not
// account for on the hosts of the accused or, if no load is measured, how long they wait to send.
func (d directed) unlistedPart(accused int) float64 {
	switch {
	case accused == 0:
		return 0
	case d.waiting && d.suspects[0].writes() && d.mostlyWrites(&d.suspects[0]):
		return d.unlistedWaits(accused, 1)
	case d.waiting && !d.suspects[0].file: // of a reader, these may be storage nodes
		return d.unlistedWaits(accused, unlistedWeight)
	case !d.in.measuresLoad:
		return 0
	case d.endsAtNoJob() && d.suspects[0].file:
		if waits := d.unlistedWaits(accused, 1); waits > 0 {
			return waits
		}
	}
	if d.root.link == schema.NoLink || !d.timeline.hasOnset() {
		return 0
	}
	theirs, own := d.mayHaveMore(d.in.hostsWithoutJob(), d.root.link, false), 0.
	for i := range accused {
		more := d.mayHaveAdded(&d.suspects[i])
		// the rest is the job's, whatever its hosts send in total
		if others := d.scores().unaccountedAt(&d.suspects[i]); others > 0 {
			more, theirs = max(0, d.root.added-others), theirs+others
		}
		own += more
	}
	theirs, own = min(theirs, d.root.added), min(own, d.root.added)
	if d.suspects[0].file { // one end of file traffic is at hosts of no job
		theirs = min(theirs, d.root.added-own)
	} else {
		theirs *= unlistedWeight
	}
	return min(mostUnlisted, theirs/max(own, d.in.graph.Capacity(d.root.link)/mostUnlisted))
}

// mayHaveAdded bounds what a suspect added to the region's root since its onset, bytes/s, by the links of its hosts and
// by its file traffic.
func (d directed) mayHaveAdded(c *suspect) float64 {
	more := d.mayHaveMore(c.job.Devices, d.root.link, c.file || !c.filesKnown)
	if !c.file || !c.filesKnown {
		return more
	}
	_, files := d.in.recentOf(c.job)
	_, baseline := d.baselineOf(c.job)
	return min(more, d.in.perSecond(max(0, files-baseline)))
}

// unlistedWaits is the time for which hosts of no listed job wait to send into a region, times a weight, relative to
// that of the accused, or to the usual part of a culprit if that is more.
func (d directed) unlistedWaits(accused int, weight float64) float64 {
	theirs, own, all := 0., 0., 0.
	for i := range accused {
		waits, unlisted, sum := d.hostWaits(d.suspects[i].job)
		theirs, own, all = unlisted, own+waits, sum
	}
	if theirs == 0 {
		return 0
	}
	return min(mostUnlisted, weight*theirs/max(own, usualPart*(all-theirs), theirs/mostUnlisted))
}

// hostsWithoutJob lists the hosts without a listed job. It is computed once per interval. Traffic between them is at
// most the lesser of what they send and take in, so a storage node that only sends or only takes in more counts for the
// job that it serves.
func (in *interval) hostsWithoutJob() []topology.DeviceID {
	if !in.withoutJobKnown {
		in.withoutJobKnown, in.withoutJob = true, in.withoutJob[:0]
		for _, h := range in.hosts {
			if len(in.tenants[h]) == 0 {
				in.withoutJob = append(in.withoutJob, h)
			}
		}
	}
	return in.withoutJob
}
