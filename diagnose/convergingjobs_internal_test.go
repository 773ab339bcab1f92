package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// incastTo is the case of a region on a torus, found under diagnosis: the nodes of the first of some jobs send to a
// switch.
func incastTo(t *testing.T, end string, jobs ...[]string) *regionCase {
	t.Helper()
	u := newTiedUp(t)
	rc := &regionCase{in: &u.stage.interval, pressure: u.p, creditPressure: u.p, region: &schema.Region{}, timeline: timeline{onset: -1, burst: -1}}
	rc.in.measuresLoad = true
	for i, nodes := range jobs {
		j := &job{Job: &history.Job{Job: schema.Job{ID: string(rune('a' + i)), Nodes: nodes}}}
		for _, name := range nodes {
			j.Devices = append(j.Devices, u.Device(t, name))
		}
		slices.Sort(j.Devices)
		rc.suspects = append(rc.suspects, suspect{job: j, known: true, cross: .9})
		u.stage.settle(j)
	}
	rc.region.Links = u.Send(rc.suspects[0].job.Devices, u.Device(t, end))
	for _, l := range rc.region.Links {
		u.Stall.Values[l] = 20
	}
	slices.Sort(rc.region.Links)
	rc.ends = gridOf(rc).endsBy(nil)
	rc.ends.endings.Nodes = root.Ending{Found: true, Device: u.Device(t, end), Link: schema.NoLink}
	rc.ends.endings.Any, rc.ends.endings.AtNodes = rc.ends.endings.Nodes, 1
	gridOf(rc).findConverging()
	return rc
}

var (
	sendingNodes = []string{"0,0,1", "1,5,2", "6,3,7", "7,7,0", "4,4,4", "2,6,5"}
	otherNodes   = []string{"3,1,0", "5,5,1", "6,0,6", "0,2,3", "4,7,7", "7,4,2"}
)

// TestWhoSendsToOneSwitch: the job whose nodes' routes to one switch are the load that was added sends it, whether that
// switch is one of its own or not; not one on other nodes. If two jobs have the same nodes, neither surely does.
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
		for i := range rc.suspects {
			if got := rc.suspects[i].converges; got != c.sends[i] {
				t.Errorf("%s: job %s sends it by %.2f, want %.2f", c.name, rc.suspects[i].job.ID, got, c.sends[i])
			}
		}
		if rc.suspects[0].away != c.away {
			t.Errorf("%s: away %v", c.name, rc.suspects[0].away)
		}
	}
}

// TestASenderElsewhereIsAccused: of a job that sends to a switch of no job it is no excuse that its exchange does not
// end there, that load was added outside of its exchange, or that its total did not grow. The class is system, and the
// root that switch.
func TestASenderElsewhereIsAccused(t *testing.T) {
	rc := incastTo(t, "2,3,4", sendingNodes, otherNodes)
	c := &rc.suspects[0]
	c.score = rc.rateJob(c)
	accused := c.score
	c.converges = 0
	if c.score = rc.rateJob(c); c.score > 0 || accused <= 0 {
		t.Errorf("score %.2f, and %.2f if its routes were not compared: want only the first above 0", accused, c.score)
	}
	c.converges = 1
	if class, right := rc.classOf(1); class != schema.CauseSystem || right != 1 {
		t.Errorf("class %v (%.2f)", class, right)
	}
	grid := rc.in.router.Grid
	end := grid.Line(rc.ends.endings.Nodes.Device, len(grid.Dims())-1)
	for device, want := range map[topology.DeviceID][2]float64{end.Device(0): {.99, 1}, end.Device(1): {0, .5}, c.job.Devices[0]: {0, 0}} {
		if got := rc.receivesAt(c, device); got < want[0] || got > want[1] {
			t.Errorf("what it sends arrives at %s by %.2f, want %v", rc.in.graph.Device(device).Name, got, want)
		}
	}
	c.file, c.job.Traffic = true, history.NewTraffic(20, 9)
	rc.in.history = remembersAt(rc.in.graph, history.Clock{Duration: 60e9, Now: 9})
	c.job.Traffic.Set(history.Write, 9, 1)
	if got := rc.receivesAt(c, end.Device(1)); got != 1 {
		t.Errorf("what it writes may arrive at a switch of no job by %.2f, want 1", got)
	}
}

// TestTreesEndAtNodes: a tree to a switch shows nothing if back pressure ends at a link, and none is sought for a job
// whose traffic is not at the region.
func TestTreesEndAtNodes(t *testing.T) {
	rc := incastTo(t, "2,3,4", sendingNodes)
	c := &rc.suspects[0]
	for name, change := range map[string]func(){
		"back pressure ends at a link": func() { rc.ends.drain.Fit, rc.ends.endings.AtNodes = 0, mayEnd-.1 },
		"it is elsewhere":              func() { rc.ends.endings.AtNodes, c.cross = 1, mostExchange-.1 },
	} {
		c.converges = 0
		change()
		gridOf(rc).findConverging()
		if c.converges != 0 {
			t.Errorf("%s: it sends by %.2f", name, c.converges)
		}
		rc.ends.endings.AtNodes, c.cross = 1, .9
	}
}

// TestHowSurelyAJobSends: a job that began with the region, or whose traffic rose then, needs less of a fit. If a job
// has no traffic data and ran before, an unlisted one on its nodes may send.
func TestHowSurelyAJobSends(t *testing.T) {
	for name, c := range map[string]struct {
		suspect suspect
		fit     float64
		want    float64
	}{
		"it rose":                          {suspect{known: true, evidence: evidence{rise: timelyRise}}, timelySurely, 1},
		"it began, its traffic is unknown": {suspect{evidence: evidence{started: true}}, timelySurely, 1},
		"it began, and fits badly":         {suspect{known: true, evidence: evidence{started: true}}, timelyMay, 0},
		"it did not rise":                  {suspect{known: true}, timelySurely, 0},
		"it did not rise, but fits well":   {suspect{known: true}, surelyConverges, 1},
		"nothing is known":                 {suspect{}, 1, 0},
	} {
		if got := c.suspect.sendsBy(c.fit); got != c.want {
			t.Errorf("%s: %.2f, want %.2f", name, got, c.want)
		}
	}
}

// TestAnIncastHoldsUpOthers: on a torus the loss of another job, of which hardly any load is in a region, makes an
// incast within a job system congestion; not the region of another job's exchange, whose load decides.
func TestAnIncastHoldsUpOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		fit  float64
		lost float64
		want schema.CauseClass
	}{
		{"an incast, another lost half", surelyConverges, .5, schema.CauseSystem},
		{"an incast, another lost little", surelyConverges, .2, schema.CauseIntraApplication},
		{"an exchange, another lost half", mayConverge, .5, schema.CauseIntraApplication},
	} {
		u := newTiedUp(t)
		s := u.stage
		s.history.Clock.Duration, s.measuresLoad, s.comparable = 60e9, true, true
		links := u.Send([]topology.DeviceID{u.Device(t, "2,3,0"), u.Device(t, "2,3,1")}, u.Device(t, "2,3,2"))
		slices.Sort(links)
		own := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: []topology.DeviceID{u.Device(t, "2,3,0"), u.Device(t, "2,3,1"), u.Device(t, "2,3,2")}, Traffic: &history.Traffic{}}, recent: cachedVolume{known: true, volume: volume{all: 1}}}
		slices.Sort(own.Devices)
		other := &job{Job: &history.Job{Job: schema.Job{ID: "2"}, Traffic: &history.Traffic{}}}
		rc := &regionCase{in: &s.interval, pressure: u.p, region: &schema.Region{ID: 1, Links: links}, waits: []float64{.5, .5}, ends: ends{fullLink: schema.NoLink},
			timeline: timeline{clock: s.history.Clock, onset: 20, stall: make([]float64, 21)}}
		rc.suspects = []suspect{{job: own, cross: 1, fit: c.fit}, {job: other, hops: 1}}
		other.lost = loss{cached: true, measured: true, onset: rc.timeline.began(), share: c.lost}
		if class, _ := rc.classOf(1); class != c.want {
			t.Errorf("%s: %s, want %s", c.name, class, c.want)
		}
	}
}
