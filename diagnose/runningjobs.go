package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// runningJobs are the jobs that run in an interval.
type runningJobs struct {
	running  []*job   // by id and start
	tenants  [][]*job // by device: the jobs with nodes there or, for a switch, at its hosts
	occupied int      // switches with tenants
	readers  []*job   // whose file traffic is an outlier, the most first

	unlistedHosts      []topology.DeviceID // hosts without a listed job, if unlistedHostsKnown
	unlistedHostsKnown bool
	left               []hostsLeave                     // by past
	usualOf            [history.NumMeasured]usualSpread // by feature, if known
}

// job is a running job, with what is measured of it in this interval. Each value is computed when it is first needed.
type job struct {
	*history.Job
	order            int    // index among running jobs, by id and start
	round            uint32 // scratch: of the region from which hops is measured
	hops             int8
	maxima           [history.NumFeatures]float64 // of the window; -1 not measured
	maximal          bool                         // maxima are computed
	lagged           [history.NumMeasured]*lagged
	baseline, recent cachedVolume
	lost             loss
	exchange         exchangeLoad
}

// findRunning lists the jobs that run in the interval.
func (in *interval) findRunning() {
	for _, d := range in.scratch.settled {
		in.tenants[d] = in.tenants[d][:0]
	}
	in.scratch.settled, in.scratch.laggedUsed = in.scratch.settled[:0], 0
	in.runningJobs = runningJobs{running: in.running[:0], tenants: in.tenants, readers: in.readers[:0],
		unlistedHosts: in.unlistedHosts[:0], left: in.left[:0]}
	running := in.history.Running()
	in.scratch.pool = slices.Grow(in.scratch.pool[:0], len(running))[:len(running)]
	for i, of := range running {
		j := &in.scratch.pool[i]
		*j = job{Job: of, order: i}
		in.running = append(in.running, j)
		in.settle(j)
	}
}

// settle adds a job to the tenants of its devices and of their switches.
func (in *interval) settle(j *job) {
	for _, d := range j.Devices {
		in.settleAt(d, j)
		if !in.graph.IsSwitch(d) {
			for _, leaf := range in.router.LeavesOf(d) {
				in.settleAt(leaf, j)
			}
		}
	}
}

// settleAt adds a job to the tenants of a device.
func (in *interval) settleAt(d topology.DeviceID, j *job) {
	t := in.tenants[d]
	if len(t) == 0 {
		if in.scratch.settled = append(in.scratch.settled, d); in.graph.IsSwitch(d) {
			in.occupied++
		}
	}
	if len(t) == 0 || t[len(t)-1] != j {
		in.tenants[d] = append(t, j)
	}
}

// hasOthers reports whether a device is a node of another job, or its switch. A requeued job is the same job.
func (in *interval) hasOthers(d topology.DeviceID, own *job) bool {
	return slices.ContainsFunc(in.tenants[d], func(j *job) bool { return j.ID != own.ID })
}

// hostsOfNoListedJob lists the hosts without a listed job. It is computed once per interval. Traffic between them is at
// most the lesser of what they send and take in, so a storage node that only sends or only takes in more counts for the
// job that it serves.
func (in *interval) hostsOfNoListedJob() []topology.DeviceID {
	if !in.unlistedHostsKnown {
		in.unlistedHostsKnown, in.unlistedHosts = true, in.unlistedHosts[:0]
		for _, h := range in.hosts {
			if len(in.tenants[h]) == 0 {
				in.unlistedHosts = append(in.unlistedHosts, h)
			}
		}
	}
	return in.unlistedHosts
}
