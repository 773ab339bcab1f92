package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/topology"
)

// outflows are by how much more the hosts of jobs send than they take in, since the onset of a region that waits for the
// full port to a host: what leaves them arrives there or at other hosts. In the sum over a job's hosts its exchange
// cancels. All are in bytes/s.
type outflows struct {
	known    bool
	arrives  float64   // more at that host, by all of its ports
	byJob    []float64 // of running jobs, by order; NaN if a link of its hosts was not read
	jobs     float64   // sum of byJob, of those from which something leaves
	unlisted float64   // of hosts of no listed job
}

// findOutflows finds them.
func (d directed) findOutflows() {
	of := &d.out
	*of = outflows{byJob: of.byJob[:0]}
	sink, known := d.fullPortTo()
	if !known || d.in.graph.IsSwitch(sink) || !d.timeline.hasOnset() {
		return
	}
	for _, l := range d.in.router.HostLinks(sink) {
		if _, to := d.in.graph.Ends(l); !d.in.graph.IsSwitch(to) {
			of.arrives += max(0, d.addedTo(l))
		}
	}
	of.known = of.arrives > 0
	for _, j := range d.in.running {
		left := d.leaves(j.Devices)
		of.byJob = append(of.byJob, left)
		if left > 0 {
			of.jobs += left
		}
	}
	for _, h := range d.in.hostsOfNoListedJob() {
		if left := d.leaves([]topology.DeviceID{h}); left > 0 {
			of.unlisted += left
		}
	}
}

// leaves is by how much more hosts send than they take in, bytes/s; NaN without readings of all of their links now and
// from before.
func (rc *regionCase) leaves(hosts []topology.DeviceID) (bytes float64) {
	for _, h := range hosts {
		for _, l := range rc.in.graph.LinksAt(h) {
			if !rc.in.use(l).known || !rc.baselineUse(l).known {
				return math.NaN()
			}
			if from, _ := rc.in.graph.Ends(l); from == h {
				bytes += rc.addedTo(l)
			} else {
				bytes -= rc.addedTo(l)
			}
		}
	}
	return bytes
}

// of is what leaves the hosts of a job, NaN if that is not known.
func (of *outflows) of(j *job) float64 {
	if j.order >= len(of.byJob) {
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
	if !d.out.known || !known || !c.file || !c.job.Has(host) {
		return 0
	}
	return jobTooLittle * shortOf(d.out.mayRead(c.job)/d.out.arrives, culpritShare, enoughOfPort)
}

// sharedWith is the part of others in file traffic that arrives at a full port, as a multiple of that of the accused,
// who may have added own to it, and hosts of no listed job theirs. What the accused write leaves their hosts.
func (d directed) sharedWith(accused int, own, theirs float64) float64 {
	if d.out.known {
		var jobs []*job
		left := 0.
		for i := range accused {
			j := d.suspects[i].job
			if jobs = append(jobs, j); !(d.out.of(j) <= 0) {
				left += d.out.of(j)
			}
		}
		others, host := d.out.ofOthers(jobs...), d.fullHost()
		if slices.ContainsFunc(jobs, func(j *job) bool { return j.Has(host) }) {
			own = min(own, d.out.mayRead(jobs...))
		} else {
			others += d.out.unlisted
			if !math.IsNaN(left) {
				own = min(own, left)
			}
		}
		theirs = max(theirs, min(others, d.out.arrives-own))
	}
	return min(mostUnlisted, theirs/max(own, d.in.graph.Capacity(d.root.link)/mostUnlisted))
}

// fullHost is the host to which the full port leads that is known to lead to one.
func (rc *regionCase) fullHost() topology.DeviceID {
	host, _ := rc.fullPortTo()
	return host
}
