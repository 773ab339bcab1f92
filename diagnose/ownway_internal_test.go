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
	}{
		{"nobody waits", []suspect{suspectOf("a", 8, 0)}, 1},
		{"alone", []suspect{suspectOf("a", 8, .5), suspectOf("b", 100, 0)}, 0},
		{"as many others wait as much", []suspect{suspectOf("a", 8, .5), suspectOf("b", 8, .5)}, .5},
		{"many others wait a little", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 21},
		{"requeued, it is itself", []suspect{suspectOf("a", 8, .5), suspectOf("a", 8, .5)}, 0},
	} {
		rc := &regionCase{jobs: c.jobs}
		if got := rc.othersShare(c.jobs[0].job); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}
