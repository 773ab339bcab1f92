package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostUnlisted bounds the blame of hosts of no listed job, as a multiple of that of the accused.
const mostUnlisted = 100

// unlisted is what hosts of no listed job may have added to the root of a region since its onset, as a multiple of what the accused
// may have added: the blame of a job that no table lists. All that speaks in time for the accused speaks for these hosts, too. Both are
// bounds from the load of the hosts' own links; traffic between hosts of no job is at most the lesser of what they send and take in, so
// a storage node that only sends or only takes in more counts for the job that it serves.
func (s *Stage) unlisted(rc *regionCase, accused int, p *root.Pressure) float64 {
	if s.graph.Duplex() || rc.fullest == schema.NoLink || rc.onset < 0 {
		return 0
	}
	theirs, own := s.boundOf(s.vacant(), rc.fullest, false, p).more, 0.
	for i := range accused {
		c := &rc.jobs[i]
		own += s.boundOn(c.job, rc.fullest, c.file || !c.filesKnown, p).more
	}
	return min(mostUnlisted, theirs/max(own, s.graph.Capacity(rc.fullest)/mostUnlisted))
}

// vacant lists the hosts without a listed job. It is computed once per interval.
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
