package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A job that began in a stalled region succeeds a job that began with the region, if it runs on that job's nodes and began after its end.
func TestSuccessor(t *testing.T) {
	const minute = 60_000_000_000
	for name, c := range map[string]struct {
		began, ended, start float64 // minutes: of the earlier job, and of the later one
		node                topology.DeviceID
		want                bool
	}{
		"on the same nodes":              {10, 20, 21, 1, true},
		"on other nodes":                 {10, 20, 21, 5, false},
		"of a job that still runs":       {10, 0, 21, 1, false},
		"before that ended":              {10, 25, 21, 1, false},
		"of a job from before the onset": {2, 20, 21, 1, false},
		"with the region":                {2, 9, 10, 1, false},
	} {
		s := &Stage{cfg: DefaultConfig(), history: &History{clock: clock{duration: minute, now: 29}, jobs: newJobTable()}}
		rc := &regionCase{onset: 10, again: 10}
		for i := range 30 {
			stall := 0.
			if i >= rc.onset {
				stall = 50
			}
			rc.stall = append(rc.stall, stall)
		}
		at := func(minutes float64) schema.Instant { return schema.Instant(math.Round(minutes * minute)) }
		was := &job{Job: &Job{Job: schema.Job{ID: "was", Start: at(c.began), End: at(c.ended)}, devices: []topology.DeviceID{1, 2}}}
		j := &job{Job: &Job{Job: schema.Job{ID: "now", Start: at(c.start)}, devices: []topology.DeviceID{c.node, c.node + 1}}}
		s.history.jobs.sorted = []*Job{j.Job, was.Job}
		if got := s.succeeds(rc, j); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
