package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// incastTo is the case of a region on a torus, found under diagnosis: the nodes of the first of some jobs send to a switch.
func incastTo(t *testing.T, end string, jobs ...[]string) *regionCase {
	t.Helper()
	u := newTiedUp(t)
	rc := &regionCase{interval: &u.stage.interval, region: &schema.Region{}, timeline: timeline{onset: -1, again: -1}}
	rc.loads = true
	for i, nodes := range jobs {
		j := &job{Job: &history.Job{Job: schema.Job{ID: string(rune('a' + i)), Nodes: nodes}}}
		for _, name := range nodes {
			j.Devices = append(j.Devices, u.Device(t, name))
		}
		slices.Sort(j.Devices)
		rc.jobs = append(rc.jobs, suspect{job: j, known: true})
		u.stage.settle(j)
	}
	rc.region.Links = u.Send(rc.jobs[0].job.Devices, u.Device(t, end))
	for _, l := range rc.region.Links {
		u.Stall.Values[l] = 20
	}
	slices.Sort(rc.region.Links)
	rc.ends = rc.findEnds(u.p, nil, nil)
	rc.endings.Nodes.Device, rc.endings.Nodes.Found = u.Device(t, end), true
	rc.findConverging()
	return rc
}

var (
	sendingNodes = []string{"0,0,1", "1,5,2", "6,3,7", "7,7,0", "4,4,4", "2,6,5"}
	otherNodes   = []string{"3,1,0", "5,5,1", "6,0,6", "0,2,3", "4,7,7", "7,4,2"}
)

// TestWhoSendsToOneSwitch: the job whose nodes' routes to one switch are the load that was added sends it, whether that switch is one of
// its own or not; not one on other nodes. If two jobs have the same nodes, neither surely does.
func TestWhoSendsToOneSwitch(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   string
		jobs  [][]string
		sends []float64
		away  bool
	}{
		{"to a switch of no job", "2,3,4", [][]string{sendingNodes, otherNodes}, []float64{1, 0}, true},
		{"to one of its own", "2,6,5", [][]string{sendingNodes, otherNodes}, []float64{1, 0}, false},
		{"alone", "2,3,4", [][]string{sendingNodes}, []float64{1}, true},
		{"on the same nodes", "2,3,4", [][]string{sendingNodes, sendingNodes}, []float64{0, 0}, false},
	} {
		rc := incastTo(t, c.end, c.jobs...)
		for i := range rc.jobs {
			if got := rc.jobs[i].converges; got != c.sends[i] {
				t.Errorf("%s: job %s sends it by %.2f, want %.2f", c.name, rc.jobs[i].job.ID, got, c.sends[i])
			}
		}
		if rc.jobs[0].away != c.away {
			t.Errorf("%s: away %v", c.name, rc.jobs[0].away)
		}
	}
}

// TestASenderElsewhereIsAccused: of a job that sends to a switch of no job it is no excuse that its exchange does not end there, that
// load was added outside of its exchange, or that its total did not grow. The class is system, and the root that switch.
func TestASenderElsewhereIsAccused(t *testing.T) {
	rc := incastTo(t, "2,3,4", sendingNodes, otherNodes)
	c := &rc.jobs[0]
	c.cross = .9
	rc.scores().rate(c)
	accused := c.score
	c.converges = 0
	if rc.scores().rate(c); c.score > 0 || accused <= 0 {
		t.Errorf("score %.2f, and %.2f if its routes were not compared: want only the first above 0", accused, c.score)
	}
	c.converges = 1
	if class, right := rc.decision().classOf(1); class != schema.CauseSystem || right != 1 {
		t.Errorf("class %v (%.2f)", class, right)
	}
	grid := rc.router.Grid
	end := grid.Line(rc.endings.Nodes.Device, len(grid.Dims())-1)
	for device, want := range map[topology.DeviceID][2]float64{end.Device(0): {.99, 1}, end.Device(1): {0, .5}, c.job.Devices[0]: {0, 0}} {
		if got := rc.receivesAt(c, device); got < want[0] || got > want[1] {
			t.Errorf("what it sends arrives at %s by %.2f, want %v", rc.graph.Device(device).Name, got, want)
		}
	}
}

// TestAnUnmeasuredSenderMayBeAnother: if a job has no traffic data and ran before, an unlisted one on its nodes may send.
func TestAnUnmeasuredSenderMayBeAnother(t *testing.T) {
	s := scores{&regionCase{}}
	known, began, unknown := s.convergesScore(&suspect{known: true, converges: 1}), s.convergesScore(&suspect{evidence: evidence{started: true}, converges: 1}), s.convergesScore(&suspect{converges: 1})
	if known != began || unknown >= known {
		t.Errorf("known %.1f, began with the region %.1f, neither %.1f", known, began, unknown)
	}
}
