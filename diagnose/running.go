package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/topology"
)

// job is a running job, with what is measured of it in this interval. Each value is computed when it is first needed.
type job struct {
	*history.Job
	order    int    // index among running jobs, by id and start
	round    uint32 // scratch: of the region from which hops is measured
	hops     int8
	maxima   [history.NumFeatures]float64 // of the window; -1 not measured
	maximal  bool                         // maxima are computed
	files    float64                      // recent file system traffic, bytes
	lagged   [history.NumMeasured]*lagged
	was, now moves
	lost     loss
	loads    exchangeLoad
	measured measuredHosts
}

// exchangeLoad caches whether load was added on most of a job's exchange since the onset of a round of past.
type exchangeLoad struct {
	known bool
	round uint32
	most  bool
}

// findRunning lists the jobs that run in the interval.
func (s *Stage) findRunning() {
	w := &s.interval
	for _, d := range w.scratch.settled {
		w.tenants[d] = w.tenants[d][:0]
	}
	w.scratch.settled, w.running, w.scratch.laggedUsed, w.vacantKnown = w.scratch.settled[:0], w.running[:0], 0, false
	w.usual = [history.NumMeasured]usualSpread{}
	running := s.history.Running()
	w.scratch.pool = slices.Grow(w.scratch.pool[:0], len(running))[:len(running)]
	for i, of := range running {
		j := &w.scratch.pool[i]
		*j = job{Job: of, order: i}
		w.running = append(w.running, j)
		s.settle(j)
	}
}

// settle adds a job to the tenants of its devices.
func (s *Stage) settle(j *job) {
	for _, d := range j.Devices {
		at := d
		if !s.graph.IsSwitch(d) {
			at = s.router.LeafOf(d)
		}
		for _, d := range [2]topology.DeviceID{d, at} {
			t := s.tenants[d]
			if len(t) == 0 {
				s.scratch.settled = append(s.scratch.settled, d)
			}
			if len(t) == 0 || t[len(t)-1] != j {
				s.tenants[d] = append(t, j)
			}
		}
	}
}
