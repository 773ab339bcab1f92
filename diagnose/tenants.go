package diagnose

import "github.com/giverny/giverny/topology"

// findRunning lists the jobs that run in the interval.
func (s *Stage) findRunning() {
	from, to := s.clock.now*s.clock.duration, (s.clock.now+1)*s.clock.duration
	s.work.running = s.work.running[:0]
	s.work.interval++
	s.work.laggedUsed = 0
	for _, d := range s.work.settled {
		s.work.tenants[d] = s.work.tenants[d][:0]
	}
	s.work.settled, s.work.taken = s.work.settled[:0], 0
	for _, j := range s.jobs.all() {
		if int64(j.Start) < to && (j.End == 0 || int64(j.End) > from) && len(j.devices) > 0 {
			j.order = len(s.work.running)
			s.work.running = append(s.work.running, j)
			s.settle(j)
		}
	}
}

// settle adds a job to the tenants of its devices.
func (s *Stage) settle(j *job) {
	for _, d := range j.devices {
		at := d
		if !s.graph.IsSwitch(d) {
			at = s.router.LeafOf(d)
		}
		for _, d := range [2]topology.DeviceID{d, at} {
			t := s.work.tenants[d]
			if len(t) == 0 {
				if s.work.settled = append(s.work.settled, d); s.graph.IsSwitch(d) {
					s.work.taken++
				}
			}
			if len(t) == 0 || t[len(t)-1] != j {
				s.work.tenants[d] = append(t, j)
			}
		}
	}
}
