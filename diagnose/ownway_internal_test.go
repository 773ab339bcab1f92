package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func TestOthersShareOfWhatWaits(t *testing.T) {
	suspectOf := func(id string, nodes int, waits float64) suspect {
		return suspect{job: &job{Job: schema.Job{ID: id}, devices: make([]topology.DeviceID, nodes)}, waits: waits}
	}
	for _, c := range []struct {
		name string
		jobs []suspect
		want float64
		idle bool
		full schema.LinkID
	}{
		{"nobody waits", []suspect{suspectOf("a", 8, 0)}, 1, false, schema.NoLink},
		{"alone", []suspect{suspectOf("a", 8, .5), suspectOf("b", 100, 0)}, 0, false, schema.NoLink},
		{"as many others wait as much", []suspect{suspectOf("a", 8, .5), suspectOf("b", 8, .5)}, .5, false, schema.NoLink},
		{"many others wait a little", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 21, false, schema.NoLink},
		{"links are idle for a part of the time", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 3, true, schema.NoLink},
		{"but one is full", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 21, true, 7},
		{"requeued, it is itself", []suspect{suspectOf("a", 8, .5), suspectOf("a", 8, .5)}, 0, false, schema.NoLink},
	} {
		rc := &regionCase{jobs: c.jobs, drain: drain{idle: c.idle}, full: c.full}
		if got := rc.othersShare(c.jobs[0].job); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}
