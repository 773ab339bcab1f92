package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What a job exchanges or reads, also from elsewhere than its files, goes to its own nodes, what it writes to nodes of
// no job.
func TestWhereAJobsTrafficGoes(t *testing.T) {
	const own, other, free topology.DeviceID = 1, 2, 3
	for _, c := range []struct {
		name          string
		file          bool
		reads, writes float64
		want          topology.DeviceID
	}{
		{"exchange", false, 0, 9, own},
		{"reads files", true, 9, 1, own},
		{"writes files", true, 1, 9, free},
		{"reads from elsewhere", true, 0, 0, own},
	} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: []topology.DeviceID{own}, Traffic: history.NewTraffic(20, 9)}}
		j.Traffic.Set(history.Read, 9, c.reads)
		j.Traffic.Set(history.Write, 9, c.writes)
		s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: 9})}}
		s.tenants = [][]*job{own: {j}, other: {{Job: &history.Job{Job: schema.Job{ID: "2"}}}}, free: nil}
		for _, at := range []topology.DeviceID{own, other, free} {
			if got := (&regionCase{in: &s.interval}).receivesAt(&suspect{job: j, file: c.file}, at); (got == 1) != (at == c.want) || got != 0 && got != 1 {
				t.Errorf("%s: device %d receives it: %v", c.name, at, got)
			}
		}
	}
}
