package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// othersLoad is the part, 0 to 1, that jobs other than c have in a region of directed links: their share of the load of each of its
// links, weighted by how long the link stalls. On a link that the job's exchange does not use all of it is theirs, also if no known
// job is there. On the others it is the less of two numbers: what their exchanges put on the link, and what the link carried before
// the onset. The rest is the job's, which is accused of the load that was added: what it sends to a few of its nodes is more there
// than a uniform exchange would be. If no load is measured, it is the others' share of the time for which hosts wait to send.
func (s *Stage) othersLoad(rc *regionCase, c *suspect, p *root.Pressure) float64 {
	if rc.waiting {
		own, all := s.hostWaits(rc, c.job)
		return 1 - own/all
	}
	own, theirs := s.expectedLoads(rc, c)
	routes, part, waits := s.routesOf(c.job), 0., 0.
	for k, l := range rc.region.Links {
		waits += rc.waits[k]
		if routes.On(l) == 0 {
			part += rc.waits[k]
			continue
		}
		expected, carries := theirs[k], p.Carries(l)
		switch was := p.Before(l); {
		case carries == 0 || !s.work.comparable:
			carries = own[k] + expected
		case was >= 0:
			expected = min(expected, was/100*s.graph.Capacity(l))
		}
		if expected > 0 {
			part += rc.waits[k] * min(1, expected/carries)
		}
	}
	if waits == 0 {
		return 1
	}
	return part / waits
}

// expectedLoads is what the exchanges of a job and of all others put on each link of a region, bytes/s. They are valid until the next
// call.
func (s *Stage) expectedLoads(rc *regionCase, c *suspect) (own, theirs []float64) {
	w, links := &s.work, rc.region.Links
	w.own, w.theirs = slices.Grow(w.own[:0], len(links))[:len(links)], slices.Grow(w.theirs[:0], len(links))[:len(links)]
	clear(w.own)
	clear(w.theirs)
	usual := s.movedByNode(rc)
	for i := range rc.jobs {
		o := &rc.jobs[i]
		if o.cross == 0 {
			continue
		}
		load := w.theirs
		if o.job.ID == c.job.ID {
			load = w.own
		}
		s.addExpected(load, links, o.job, usual)
	}
	return w.own, w.theirs
}

// addExpected adds what a job's exchange puts on each of some links, in ascending order, bytes/s. Of a job whose traffic is not known
// it is as much by node as is usual.
func (s *Stage) addExpected(load []float64, links []schema.LinkID, j *job, usual float64) {
	rate, set, from := s.movedOr(j, usual)*1e9/float64(s.clock.duration), s.routesOf(j), 0
	for k, l := range links {
		at, on := slices.BinarySearch(set.Links[from:], l)
		if from += at; on {
			load[k] += rate * float64(set.Load[from])
		}
	}
}
