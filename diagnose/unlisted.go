package diagnose

import (
	"slices"

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
// added to the region's root since its onset or, if no load is measured, how long they wait to send.
func (rc *regionCase) unlistedPart(accused int) float64 {
	switch {
	case rc.graph.Duplex() || accused == 0:
		return 0
	case !rc.loads:
		return rc.unlistedWaits(accused)
	case rc.fullest == schema.NoLink || rc.onset < 0:
		return 0
	}
	theirs, own := rc.boundOf(rc.vacant(), rc.fullest, false).more, 0.
	for i := range accused {
		own += rc.mayHaveAdded(&rc.jobs[i])
	}
	theirs, own = min(theirs, rc.more), min(own, rc.more)
	if rc.jobs[0].file { // one end of file traffic is at hosts of no job
		theirs = min(theirs, rc.more-own)
	} else {
		theirs *= unlistedWeight
	}
	return min(mostUnlisted, theirs/max(own, rc.graph.Capacity(rc.fullest)/mostUnlisted))
}

// mayHaveAdded bounds what a suspect added to the region's root since its onset, bytes/s, by the links of its hosts and by its file
// traffic.
func (rc *regionCase) mayHaveAdded(c *suspect) float64 {
	more := rc.boundOn(c.job, rc.fullest, c.file || !c.filesKnown).more
	if !c.file || !c.filesKnown {
		return more
	}
	_, files := rc.lately(c.job)
	_, was := rc.earlier(c.job)
	return min(more, max(0, files-was)*1e9/float64(rc.history.Clock.Duration))
}

// unlistedWaits is the time for which hosts of no listed job wait to send into a region, relative to that of the accused. Storage nodes
// from which the accused may read are such hosts.
func (rc *regionCase) unlistedWaits(accused int) float64 {
	theirs, own := 0., 0.
	for k, l := range rc.region.Links {
		from, _ := rc.graph.Ends(l)
		switch {
		case rc.graph.IsSwitch(from):
		case len(rc.tenants[from]) == 0:
			theirs += rc.waits[k]
		case slices.ContainsFunc(rc.jobs[:accused], func(c suspect) bool { return c.job.Has(from) }):
			own += rc.waits[k]
		}
	}
	if theirs == 0 || rc.jobs[0].file {
		return 0
	}
	return min(mostUnlisted, unlistedWeight*theirs/max(own, theirs/mostUnlisted))
}

// vacant lists the hosts without a listed job. It is computed once per interval. Traffic between them is at most the lesser of what they
// send and take in, so a storage node that only sends or only takes in more counts for the job that it serves.
func (in *interval) vacant() []topology.DeviceID {
	if !in.vacantKnown {
		in.vacantKnown, in.vacantHosts = true, in.vacantHosts[:0]
		for _, h := range in.hosts {
			if len(in.tenants[h]) == 0 {
				in.vacantHosts = append(in.vacantHosts, h)
			}
		}
	}
	return in.vacantHosts
}
