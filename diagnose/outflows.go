package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/topology"
)

// outflows are by how much more hosts send than they take in, since the onset of a region that waits for the full port
// to a host or, without an onset, at all: what leaves them arrives there or at other hosts. In the sum over a job's hosts
// its exchange cancels. All are in bytes/s.
type outflows struct {
	*hostsLeave         // nil: unknown
	arrives     float64 // more at that host, by all of its ports
}

// hostsLeave is what leaves the hosts of jobs. It is the same for all regions of an interval with the same past.
type hostsLeave struct {
	past     uint32    // its number
	byJob    []float64 // of running jobs, by order; NaN if a link of its hosts was not read
	jobs     float64   // sum of byJob, of those from which something leaves
	unlisted float64   // of hosts of no listed job
}

// findOutflows finds them.
func (d directed) findOutflows() {
	d.out = outflows{}
	sink, known := d.fullPortTo()
	if !known || d.in.graph.IsSwitch(sink) {
		return
	}
	for _, l := range d.in.router.HostLinks(sink) {
		if _, to := d.in.graph.Ends(l); !d.in.graph.IsSwitch(to) {
			d.out.arrives += max(0, d.addedTo(l))
		}
	}
	if d.out.arrives > 0 {
		d.out.hostsLeave = d.hostsLeave()
	}
}

// hostsLeave finds what leaves all hosts, or finds it again.
func (d directed) hostsLeave() *hostsLeave {
	all := d.in.left
	if i := slices.IndexFunc(all, func(of hostsLeave) bool { return of.past == d.pressure.Number }); i >= 0 {
		return &all[i]
	}
	all = slices.Grow(all, 1)[:len(all)+1]
	d.in.left = all
	of := &all[len(all)-1]
	*of = hostsLeave{past: d.pressure.Number, byJob: of.byJob[:0]}
	for _, j := range d.in.running {
		left := d.leaves(j.Devices)
		if of.byJob = append(of.byJob, left); left > 0 {
			of.jobs += left
		}
	}
	for _, h := range d.in.hostsOfNoListedJob() {
		if left := d.leaves([]topology.DeviceID{h}); left > 0 {
			of.unlisted += left
		}
	}
	return of
}

// readingNoise is by what part of it the load of a link may be misread: twice the usual deviation.
const readingNoise = .1

// leaves is by how much more hosts send than they take in, bytes/s, beyond what may be misread: a small difference of
// large loads is noise. It is NaN without readings of all of their links now and from before the onset.
func (rc *regionCase) leaves(hosts []topology.DeviceID) float64 {
	left, carried := 0., 0.
	for _, h := range hosts {
		b := rc.balanceOf(h)
		if !b.read || !b.before && rc.timeline.hasOnset() {
			return math.NaN()
		}
		left, carried = left+b.more, carried+b.carries/2
	}
	noise := readingNoise * carried / math.Sqrt(max(1, float64(len(hosts))))
	return math.Copysign(max(0, math.Abs(left)-noise), left)
}

// of is what leaves the hosts of a job, NaN if that is not known.
func (of *outflows) of(j *job) float64 {
	if of.hostsLeave == nil || j.order >= len(of.byJob) {
		return math.NaN()
	}
	return of.byJob[j.order]
}

// ofOthers is what leaves the hosts of listed jobs other than some.
func (of *outflows) ofOthers(jobs ...*job) float64 {
	others := of.jobs
	for _, j := range jobs {
		if left := of.of(j); left > 0 {
			others -= left
		}
	}
	return max(0, others)
}

// mayRead is how much of what arrives at a host of some jobs these may read from files: not what leaves the hosts of
// other listed jobs, if hosts of no listed job, as storage nodes are, do not send as much.
func (of *outflows) mayRead(jobs ...*job) float64 {
	return max(of.unlisted, of.arrives-of.ofOthers(jobs...))
}

// notReadPenalty is the penalty of a suspect for reading files at the full port to its host, if hosts of other listed
// jobs send what arrives there.
func (d directed) notReadPenalty(c *suspect) float64 {
	host, known := d.fullPortTo()
	if d.out.hostsLeave == nil || !d.timeline.hasOnset() || !known || !c.file || !c.job.Has(host) {
		return 0
	}
	return jobTooLittle * shortOf(d.out.mayRead(c.job)/d.out.arrives, culpritShare, enoughOfPort)
}

// sharedWith is the part of others in file traffic that arrives at a full port, as a multiple of that of the accused,
// who may have added own to it, and hosts of no listed job theirs. What the accused write leaves their hosts.
func (d directed) sharedWith(accused int, own, theirs float64) float64 {
	added := d.root.added
	if d.out.hostsLeave != nil {
		added = max(added, d.out.arrives)
		others, most := d.beside(accused)
		own = min(own, most, added)
		theirs = max(theirs, min(others, added-own))
	}
	return d.timesOwn(theirs, min(own, added))
}

// beside is how much of what arrives at the full port hosts of others send than of the first so many suspects, and the
// most that these can have added to it.
func (d directed) beside(accused int) (others, most float64) {
	var jobs []*job
	for i := range accused {
		j := d.suspects[i].job
		if jobs = append(jobs, j); !(d.out.of(j) <= 0) {
			most += d.out.of(j)
		}
	}
	others = d.out.ofOthers(jobs...)
	host, _ := d.fullPortTo()
	switch {
	case slices.ContainsFunc(jobs, func(j *job) bool { return j.Has(host) }):
		return others, d.out.mayRead(jobs...)
	case math.IsNaN(most):
		most = math.Inf(1)
	}
	return others + d.out.unlisted, most
}

// fromOutside is how much of what was added to the full port to a host of the first so many suspects, or without an onset
// goes there, comes from hosts of others, bytes/s: what the hosts of a job take in beyond what they send is none of its
// exchange.
func (d directed) fromOutside(accused int) float64 {
	sink, known := d.fullPortTo()
	if !known || d.out.hostsLeave == nil {
		return 0
	}
	var jobs []*job
	taken, isTheirs := 0., false
	for i := range accused {
		j := d.suspects[i].job
		jobs, isTheirs = append(jobs, j), isTheirs || j.Has(sink)
		if left := d.out.of(j); left < 0 {
			taken -= left
		}
	}
	if !isTheirs {
		return 0
	}
	return d.addedToRoot() * min(1, min(taken, d.out.unlisted+d.out.ofOthers(jobs...))/d.out.arrives)
}

// readsFiles reports whether half or more of what the hosts of a job take in beyond what they send is its file traffic.
func (d directed) readsFiles(j *job) bool {
	return 2*d.in.perSecond(d.in.recentOf(j).files) >= -d.out.of(j)
}
