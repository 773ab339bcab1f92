package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestJobsElsewhereDoNotMeetThere: added traffic meets at a node of the job that exchanges it, or beside one, as neighbours
// on a line differ by little.
func TestJobsElsewhereDoNotMeetThere(t *testing.T) {
	u := newTiedUp(t)
	rc := &regionCase{flooded: true, drain: root.Drain{Meeting: root.Meeting{Device: u.Device(t, "2,7,3"), Agree: 1}}}
	for at, elsewhere := range map[string]bool{"2,7,3": false, "2,7,4": false, "2,7,2": false, "2,7,5": true, "2,6,3": true, "1,7,3": true} {
		c := &suspect{job: &job{devices: []topology.DeviceID{u.Device(t, at)}}}
		if got := u.stage.meetsElsewhere(rc, c); got != elsewhere {
			t.Errorf("of a job at %s: %v", at, got)
		}
		c.file = true
		if u.stage.meetsElsewhere(rc, c) {
			t.Errorf("a job at %s that writes to storage is cleared", at)
		}
	}
	rc.flooded = false
	if u.stage.meetsElsewhere(rc, &suspect{job: &job{devices: []topology.DeviceID{u.Device(t, "0,0,0")}}}) {
		t.Error("a job is cleared where no load was added")
	}
}

// TestWhoMayWriteFiles: load that meets at nodes of no job may be files of a job that began with it, if its routes cross the region
// and its traffic is unknown. It is load on the system then, and a job is not cleared by having no node there.
func TestWhoMayWriteFiles(t *testing.T) {
	u := newTiedUp(t)
	end := u.Device(t, "2,7,3")
	writes := suspect{evidence: evidence{started: true}, cross: .8}
	for name, c := range map[string]struct {
		change func(c *suspect, rc *regionCase)
		want   bool
	}{
		"it began with the region": {func(*suspect, *regionCase) {}, true},
		"it ran before":            {func(c *suspect, _ *regionCase) { c.started = false }, false},
		"its traffic is measured":  {func(c *suspect, _ *regionCase) { c.known = true }, false},
		"its routes are elsewhere": {func(c *suspect, _ *regionCase) { c.cross = .2 }, false},
		"no load was added":        {func(_ *suspect, rc *regionCase) { rc.flooded = false }, false},
		"the nodes are a job's": {func(*suspect, *regionCase) {
			u.stage.work.tenants[end] = []*job{{}}
		}, false},
	} {
		u.stage.work.tenants[end] = nil
		rc, c := &regionCase{flooded: true, drain: root.Drain{Meeting: root.Meeting{Device: end, Agree: 1}}}, c
		of := writes
		of.job = &job{devices: []topology.DeviceID{u.Device(t, "0,0,0")}}
		c.change(&of, rc)
		if got := u.stage.writesFiles(rc, &of); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if rc.flooded && u.stage.meetsElsewhere(rc, &of) == c.want {
			t.Errorf("%s: load that meets elsewhere speaks for the job", name)
		}
		if rc.jobs = []suspect{of}; c.want {
			if class, _ := u.stage.classOf(rc, 1, u.p); class != schema.CauseSystem {
				t.Errorf("%s: files are %s", name, class)
			}
		}
	}
}

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
