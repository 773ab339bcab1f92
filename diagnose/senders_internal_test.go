package diagnose

import (
	"math"
	"testing"

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
	rc := &regionCase{region: &schema.Region{}, drain: root.Drain{Device: u.Device(t, "3,3,2"), Fit: .98, Senders: senders}, onset: -1}
	if !rc.excludes(&suspect{job: &job{devices: others}}) || rc.excludes(&suspect{job: &job{devices: senders}}) {
		t.Error("who is excluded is not who does not send")
	}
	c := &suspect{job: &job{devices: others}, cross: 1, growth: 1, burden: 1, known: true}
	if u.stage.rate(rc, c, u.p); !math.IsInf(c.score, -1) {
		t.Errorf("where no known job sends the tree, one that does not has a score of %.1f", c.score)
	}
	rc.sender = &job{devices: senders}
	if u.stage.rate(rc, c, u.p); math.IsInf(c.score, -1) {
		t.Error("the tree of another job leaves no score")
	}
}
