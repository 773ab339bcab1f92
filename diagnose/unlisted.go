package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostUnlisted bounds the blame of hosts of no listed job, as a multiple of that of the accused.
const mostUnlisted = 100

// unlistedWeight is the weight of what hosts of no listed job send, relative to the accused's: such hosts seldom send more than before, or
// anything that could wait, while jobs begin and change all the time, and every job in a region waits.
const unlistedWeight = 3.

// unlisted is the part that hosts of no listed job have in a region of directed links, as a multiple of that of the accused: the blame
// of a job that no table lists. All that speaks in time for the accused speaks for these hosts, too. The part is what they may have
// added to the region's root since its onset or, if no load is measured, how long they wait to send.
func (s *Stage) unlisted(rc *regionCase, accused int, p *root.Pressure) float64 {
	switch {
	case s.graph.Duplex() || accused == 0:
		return 0
	case !s.work.loads:
		return s.unlistedWaits(rc, accused)
	case rc.fullest == schema.NoLink || rc.onset < 0:
		return 0
	}
	theirs, own := s.boundOf(s.vacant(), rc.fullest, false, p).more, 0.
	for i := range accused {
		own += s.mayHaveAdded(rc, &rc.jobs[i], p)
	}
	theirs, own = min(theirs, rc.more), min(own, rc.more)
	if rc.jobs[0].file { // one end of file traffic is at hosts of no job
		theirs = min(theirs, rc.more-own)
	} else {
		theirs *= unlistedWeight
	}
	return min(mostUnlisted, theirs/max(own, s.graph.Capacity(rc.fullest)/mostUnlisted))
}

// mayHaveAdded bounds what a suspect added to the region's root since its onset, bytes/s, by the links of its hosts and by its file
// traffic.
func (s *Stage) mayHaveAdded(rc *regionCase, c *suspect, p *root.Pressure) float64 {
	more := s.boundOn(c.job, rc.fullest, c.file || !c.filesKnown, p).more
	if !c.file || !c.filesKnown {
		return more
	}
	_, files := s.lately(c.job)
	_, was := s.earlier(rc, c.job)
	return min(more, max(0, files-was)*1e9/float64(s.clock.duration))
}

// unlistedWaits is the time for which hosts of no listed job wait to send into a region, relative to that of the accused, or to the usual
// part of a culprit if that is more. Storage nodes from which the accused may read are such hosts.
func (s *Stage) unlistedWaits(rc *regionCase, accused int) float64 {
	theirs, own, all := rc.vacant, 0., 0.
	for i := range accused {
		waits, sum := s.hostWaits(rc, rc.jobs[i].job)
		own, all = own+waits, sum
	}
	if theirs == 0 || rc.jobs[0].file {
		return 0
	}
	return min(mostUnlisted, unlistedWeight*theirs/max(own, usualPart*(all-theirs), theirs/mostUnlisted))
}

// vacant lists the hosts without a listed job. It is computed once per interval. Traffic between them is at most the lesser of what they
// send and take in, so a storage node that only sends or only takes in more counts for the job that it serves.
func (s *Stage) vacant() []topology.DeviceID {
	w := &s.work
	if w.vacantIn != w.interval {
		w.vacantIn, w.vacant = w.interval, w.vacant[:0]
		for _, h := range s.hosts {
			if len(w.tenants[h]) == 0 {
				w.vacant = append(w.vacant, h)
			}
		}
	}
	return w.vacant
}
