package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// othersLoad is the part, 0 to 1, that jobs other than c have in a region of directed links: their share of the load of
// each of its links, weighted by how long the link stalls. On a link that the job's exchange does not use all of it is
// theirs, also if no known job is there. On the others it is the less of two numbers: what their exchanges put on the
// link, and what the link carried before the onset. The rest is the job's, which is accused of the load that was added:
// what it sends to a few of its nodes is more there than a uniform exchange would be. If no load is measured, it is the
// others' share of the time for which hosts wait to send.
func (d decision) othersLoad(c *suspect) float64 {
	if d.waiting {
		own, _, all := d.hostWaits(c.job)
		return 1 - own/all
	}
	own, theirs := d.expectedLoads(c, d.region.Links)
	part, waits := 0., 0.
	for k, l := range d.region.Links {
		waits += d.waits[k]
		part += d.waits[k] * d.othersOn(c, l, own[k], theirs[k])
	}
	if waits == 0 {
		return 1
	}
	return part / waits
}

// othersOn is the part of jobs other than c in the load of a link, 0 to 1.
func (d decision) othersOn(c *suspect, l schema.LinkID, own, theirs float64) float64 {
	if d.in.routesOf(c.job).On(l) == 0 {
		return 1
	}
	carries := d.in.read.Carries(l)
	switch baseline := d.baselineUse(l); {
	case carries == 0 || !d.in.comparable:
		carries = own + theirs
	case baseline.known:
		theirs = min(theirs, baseline.of/100*d.in.graph.Capacity(l))
	}
	if theirs <= 0 {
		return 0
	}
	return min(1, theirs/carries)
}

// expectedLoads is what the exchanges of a job and of all others put on each of some links, bytes/s. They are valid
// until the next call.
func (d decision) expectedLoads(c *suspect, links []schema.LinkID) (own, theirs []float64) {
	w := &d.in.scratch
	w.own, w.theirs = slices.Grow(w.own[:0], len(links))[:len(links)],
		slices.Grow(w.theirs[:0], len(links))[:len(links)]
	clear(w.own)
	clear(w.theirs)
	usual := d.movedByNode()
	for i := range d.suspects {
		o := &d.suspects[i]
		if o.cross == 0 {
			continue
		}
		load := w.theirs
		if o.job.ID == c.job.ID {
			load = w.own
		}
		d.in.addExpected(load, links, o.job, usual)
	}
	return w.own, w.theirs
}

// addExpected adds what a job's exchange puts on each of some links, in ascending order, bytes/s. Of a job whose
// traffic is not known it is as much by node as is usual.
func (in *interval) addExpected(load []float64, links []schema.LinkID, j *job, usual float64) {
	rate, set, from := in.perSecond(in.movedOr(j, usual)), in.routesOf(j), 0
	for k, l := range links {
		at, on := slices.BinarySearch(set.Links[from:], l)
		if from += at; on {
			load[k] += rate * float64(set.Load[from])
		}
	}
}
