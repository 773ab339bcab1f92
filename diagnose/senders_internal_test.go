package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhoIsExcluded: a job that does not send a tree whose senders are known is no suspect if no known sender does.
func TestWhoIsExcluded(t *testing.T) {
	u := newTiedUp(t)
	var senders, others []topology.DeviceID
	for i := range 9 {
		senders, others = append(senders, topology.DeviceID(31*i)), append(others, topology.DeviceID(17*i+5))
	}
	rc := &regionCase{in: &u.stage.interval, p: u.p, region: &schema.Region{}, timeline: timeline{clock: u.stage.history.Clock, onset: -1}, ends: ends{drain: root.Drain{Device: u.Device(t, "3,3,2"), Fit: .98, Senders: senders}}}
	if !gridOf(rc).excludes(&suspect{job: &job{Job: &history.Job{Devices: others}}}) || gridOf(rc).excludes(&suspect{job: &job{Job: &history.Job{Devices: senders}}}) {
		t.Error("who is excluded is not who does not send")
	}
}
