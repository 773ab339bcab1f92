package diagnose

import (
	"fmt"
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// A job that began in a stalled region succeeds a job that began with the region, if it runs on that job's nodes and
// began after its end.
func TestSuccessor(t *testing.T) {
	const minute = 60_000_000_000
	for name, c := range map[string]struct {
		began, ended, start float64 // minutes: of the earlier job, and of the later one
		node                int
		want                bool
	}{
		"on the same nodes":              {10, 20, 21, 1, true},
		"on other nodes":                 {10, 20, 21, 5, false},
		"of a job that still runs":       {10, 0, 21, 1, false},
		"before that ended":              {10, 25, 21, 1, false},
		"of a job from before the onset": {2, 20, 21, 1, false},
		"with the region":                {2, 9, 10, 1, false},
	} {
		g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
		s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(g, history.Clock{Duration: minute, Now: 29})}}
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, onset: 10, burst: 10}}
		for i := range 30 {
			stall := 0.
			if i >= rc.timeline.onset {
				stall = 50
			}
			rc.timeline.stall = append(rc.timeline.stall, stall)
		}
		at := func(minutes float64) schema.Instant { return schema.Instant(math.Round(minutes * minute)) }
		nodes := func(first int) []string { return []string{fmt.Sprint("host", first), fmt.Sprint("host", first+1)} }
		s.history.AddJobs([]schema.Job{{ID: "was", Start: at(c.began), End: at(c.ended), Nodes: nodes(1)}, {ID: "now", Start: at(c.start), Nodes: nodes(c.node)}})
		j := &job{Job: s.history.Jobs()[0]}
		if got := rc.succeeds(j); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
