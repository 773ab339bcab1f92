package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// job is a running job, with what is measured of it in this interval. Each value is computed when it is first needed.
type job struct {
	*history.Job
	order            int    // index among running jobs, by id and start
	round            uint32 // scratch: of the region from which hops is measured
	hops             int8
	maxima           [history.NumFeatures]float64 // of the window; -1 not measured
	maximal          bool                         // maxima are computed
	files            float64                      // recent file system traffic, bytes
	lagged           [history.NumMeasured]*lagged
	baseline, recent moves
	lost             loss
	exchange         exchangeLoad
}

// findRunning lists the jobs that run in the interval.
func (in *interval) findRunning() {
	for _, d := range in.scratch.settled {
		in.tenants[d] = in.tenants[d][:0]
	}
	in.scratch.settled, in.running, in.scratch.laggedUsed, in.withoutJobKnown = in.scratch.settled[:0],
		in.running[:0], 0, false
	in.usualOf = [history.NumMeasured]usualSpread{}
	in.occupied = 0
	running := in.history.Running()
	in.scratch.pool = slices.Grow(in.scratch.pool[:0], len(running))[:len(running)]
	for i, of := range running {
		j := &in.scratch.pool[i]
		*j = job{Job: of, order: i}
		in.running = append(in.running, j)
		in.settle(j)
	}
}

// settle adds a job to the tenants of its devices.
func (in *interval) settle(j *job) {
	for _, d := range j.Devices {
		at := d
		if !in.graph.IsSwitch(d) {
			at = in.router.LeafOf(d)
		}
		for _, d := range [2]topology.DeviceID{d, at} {
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
	}
}
