package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostUnlisted bounds the blame of hosts of no listed job, as a multiple of that of the accused.
const mostUnlisted = 100

// unlistedWeight is the weight of what hosts of no listed job send, relative to the accused's: such hosts seldom send more than before, or
// anything that could wait, while jobs begin and change all the time, and every job in a region waits.
const unlistedWeight = 3.

// unlistedPart is the part that hosts of no listed job have in a region of directed links, as a multiple of that of the accused: the blame
// of a job that no table lists. All that speaks in time for the accused speaks for these hosts, too. The part is what they may have
// added to the region's root since its onset, with what the traffic table does not account for on the hosts of the accused or, if no load is
// measured, how long they wait to send.
func (s scores) unlistedPart(accused int) float64 {
	switch {
	case s.in.graph.Duplex() || accused == 0:
		return 0
	case s.waiting && s.suspects[0].writes() && s.mostlyWrites(&s.suspects[0]):
		return s.unlistedWaits(accused, 1)
	case s.waiting && !s.suspects[0].file: // of a reader, these may be storage nodes
		return s.unlistedWaits(accused, unlistedWeight)
	case !s.in.measuresLoad:
		return 0
	case s.endsAtNoJob() && s.suspects[0].file:
		if waits := s.unlistedWaits(accused, 1); waits > 0 {
			return waits
		}
	}
	if s.root.link == schema.NoLink || !s.timeline.hasOnset() {
		return 0
	}
	theirs, own := s.boundOf(s.in.hostsWithoutJob(), s.root.link, false).added, 0.
	for i := range accused {
		more := s.mayHaveAdded(&s.suspects[i])
		if others := s.unaccountedAt(&s.suspects[i]); others > 0 { // the rest is the job's, whatever its hosts send in total
			more, theirs = max(0, s.root.added-others), theirs+others
		}
		own += more
	}
	theirs, own = min(theirs, s.root.added), min(own, s.root.added)
	if s.suspects[0].file { // one end of file traffic is at hosts of no job
		theirs = min(theirs, s.root.added-own)
	} else {
		theirs *= unlistedWeight
	}
	return min(mostUnlisted, theirs/max(own, s.in.graph.Capacity(s.root.link)/mostUnlisted))
}

// mayHaveAdded bounds what a suspect added to the region's root since its onset, bytes/s, by the links of its hosts and by its file
// traffic.
func (s scores) mayHaveAdded(c *suspect) float64 {
	more := s.boundOn(c.job, s.root.link, c.file || !c.filesKnown).added
	if !c.file || !c.filesKnown {
		return more
	}
	_, files := s.in.recentOf(c.job)
	_, baseline := s.baselineOf(c.job)
	return min(more, s.in.perSecond(max(0, files-baseline)))
}

// unlistedWaits is the time for which hosts of no listed job wait to send into a region, times a weight, relative to that of the accused, or
// to the usual part of a culprit if that is more.
func (s scores) unlistedWaits(accused int, weight float64) float64 {
	theirs, own, all := 0., 0., 0.
	for i := range accused {
		waits, unlisted, sum := s.hostWaits(s.suspects[i].job)
		theirs, own, all = unlisted, own+waits, sum
	}
	if theirs == 0 {
		return 0
	}
	return min(mostUnlisted, weight*theirs/max(own, usualPart*(all-theirs), theirs/mostUnlisted))
}

// hostsWithoutJob lists the hosts without a listed job. It is computed once per interval. Traffic between them is at most the lesser of what they
// send and take in, so a storage node that only sends or only takes in more counts for the job that it serves.
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
