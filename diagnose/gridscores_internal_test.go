package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAJobLoadsItsGround: without a traffic table, a job is known to load a region if load was added all over the links
// of its exchange, also among another job's nodes; not if only traffic that converges on one of its nodes was added, if
// as much was added to the links that it does not use, or if the load did not rise.
func TestAJobLoadsItsGround(t *testing.T) {
	var block []string
	for _, x := range "123" {
		for _, y := range "123" {
			for _, z := range "123" {
				block = append(block, string(x)+","+string(y)+","+string(z))
			}
		}
	}
	for _, c := range []struct {
		name       string
		all        bool // all exchange; else all send to the last node
		load       float64
		tenant     bool // of the other job, at every second node
		everywhere bool // load was added to all links of the fabric
		want       bool
	}{
		{"exchange", true, 2, false, false, true}, {"incast", false, 2, false, false, false},
		{"no more load", true, 1, false, false, false}, {"among others", true, 2, true, false, true},
		{"load everywhere", true, 2, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			own, other := &job{Job: &history.Job{Job: schema.Job{ID: "own"}}}, &job{Job: &history.Job{Job: schema.Job{ID: "other"}}}
			for _, name := range block {
				own.Devices = append(own.Devices, u.Device(t, name))
			}
			slices.Sort(own.Devices)
			var links []schema.LinkID
			for i, to := range own.Devices {
				if !c.all && i < len(own.Devices)-1 {
					continue
				}
				links = append(links, u.Send(slices.DeleteFunc(slices.Clone(own.Devices), func(d topology.DeviceID) bool { return d == to }), to)...)
			}
			slices.Sort(links)
			for i, d := range own.Devices {
				u.stage.tenants[d] = []*job{own}
				if c.tenant && i%2 == 1 {
					u.stage.tenants[d] = []*job{own, other}
				}
			}
			if c.everywhere {
				for l := range u.p.Use.Values {
					u.p.Use.Values[l] = 60
				}
			}
			rc := &regionCase{in: &u.stage.interval, pressure: u.p, region: &schema.Region{Links: links}, load: times(c.load)}
			for range links {
				rc.waits = append(rc.waits, 1)
			}
			rc.findAdded()
			if got := gridOf(rc).loadsAll(&suspect{job: own, cross: 1}); (got > 0) != c.want {
				t.Errorf("loads its ground by %.2f, want any: %t", got, c.want)
			}
			if c.everywhere {
				return
			}
			last := own.Devices[len(own.Devices)-1]
			rc.suspects, rc.verdict.exchanges = []suspect{{job: own}}, rc.loadsExchange(own)
			at := rc.accused(0, &schema.Root{Kind: schema.RootIncast, Device: u.stage.graph.Device(last).Name}).Receiver
			if named := at != ""; named == c.all {
				t.Errorf("the one receiver is named: %t", named)
			}
		})
	}
}

// TestAnExchangeCongestsItsOwnGround: a region on a torus that lies more than usual on switches without a listed job
// speaks against exchanges that are measured.
func TestAnExchangeCongestsItsOwnGround(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.findRunning()
	rc := &regionCase{in: &s.interval, pressure: u.p, region: &schema.Region{Links: []schema.LinkID{0, 1, 2}}}
	gridOf(rc).findEmpty()
	if math.Abs(rc.emptyExcess) > 1e-9 {
		t.Errorf("without jobs a region is emptier than the torus by %.2f", rc.emptyExcess)
	}
	for _, l := range rc.region.Links { // a job at both ends of all links
		from, to := s.graph.Ends(l)
		s.settle(&job{Job: &history.Job{Devices: []topology.DeviceID{from, to}}})
	}
	gridOf(rc).findEmpty()
	if rc.emptyExcess >= 0 {
		t.Errorf("a region among jobs is emptier than the torus by %.2f", rc.emptyExcess)
	}
	rc.emptyExcess = .2
	for name, c := range map[string]struct {
		suspect suspect
		against float64
	}{
		"an exchange": {suspect{known: true}, jobEmpty * (.2 - usualEmpty)},
		"files":       {suspect{known: true, file: true}, 0},
		"unmeasured":  {suspect{}, 0},
	} {
		if got := gridOf(rc).emptyGroundPenalty(&c.suspect); math.Abs(got-c.against) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}

// TestASenderWithoutTraffic: on a grid, a job without traffic data is accused of the added load of a tree that its
// nodes surely send; not of a tree that fits badly or shows no added load, nor if its traffic is known, nor if it is
// not the sender.
func TestASenderWithoutTraffic(t *testing.T) {
	u := newTiedUp(t)
	sender := &job{Job: &history.Job{Job: schema.Job{ID: "1"}}}
	end := u.Device(t, "4,4,4")
	other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"4,4,4"}}}}
	other.Place(u.Graph)
	grew := root.Drain{Device: end, Fit: .97, Grew: true}
	for name, c := range map[string]struct {
		drain root.Drain
		job   *job
		known bool
		want  bool
	}{
		"it sends":             {grew, sender, false, true},
		"its traffic is known": {grew, sender, true, false},
		"another sends":        {grew, other, false, false},
		"no load was added":    {root.Drain{Device: end, Fit: .97}, sender, false, false},
		"it fits badly":        {root.Drain{Device: end, Fit: .6, Grew: true}, sender, false, false},
	} {
		rc := &regionCase{in: &u.stage.interval, pressure: u.p, region: &schema.Region{}, ends: ends{drain: c.drain, sender: sender, fullLink: schema.NoLink, bottleneck: root.Bottleneck{Link: schema.NoLink}}}
		if got := rc.rules().endScore(&suspect{job: c.job, known: c.known}); (got == jobConverges) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStallEndsWhereAJobHasNoNode: without load readings, a job whose traffic is its exchange is hardly accused of a
// region that surely ends at the nodes of a switch at which it has none.
func TestStallEndsWhereAJobHasNoNode(t *testing.T) {
	for _, c := range []struct {
		name    string
		node    string
		change  func(*regionCase, *suspect)
		exclude bool
	}{
		{"elsewhere", "1,1,1", func(*regionCase, *suspect) {}, true},
		{"there", "0,0,3", func(*regionCase, *suspect) {}, false},
		{"beside", "0,0,2", func(*regionCase, *suspect) {}, false},
		{"it has file traffic", "1,1,1", func(_ *regionCase, c *suspect) { c.file = true }, false},
		{"its files are not measured", "1,1,1", func(_ *regionCase, c *suspect) { c.filesKnown = false }, false},
		{"it may end at a link", "1,1,1", func(rc *regionCase, _ *suspect) { rc.ends.endings.AtNodes = .7 }, false},
		{"loads show more", "1,1,1", func(rc *regionCase, _ *suspect) { rc.in.measuresLoad = true }, false},
	} {
		u := newTiedUp(t)
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: []topology.DeviceID{u.Device(t, c.node)}}}
		rc, suspected := &regionCase{in: &u.stage.interval}, &suspect{job: j, known: true, filesKnown: true}
		rc.ends.endings = root.Endings{Any: root.Ending{Found: true, Device: u.Device(t, "0,0,3"), Link: schema.NoLink}, AtNodes: .95}
		c.change(rc, suspected)
		if got := gridOf(rc).endScore(suspected); got < 0 != c.exclude {
			t.Errorf("%s: score %.1f", c.name, got)
		}
	}
}

// TestStallCentresElsewhere: without load readings an exchange is hardly accused if stall surely has its centre at nodes
// away from its own; files go anywhere.
func TestStallCentresElsewhere(t *testing.T) {
	s, err := New(roottest.Graph(t, "torus:6x6x6"), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	at := hostsOf(t, s.graph, "2,2,2")[0]
	for _, c := range []struct {
		name    string
		node    string
		atNodes float64
		suspect suspect
		want    float64
	}{
		{"elsewhere", "2,3,4", .95, suspect{filesKnown: true}, -jobTooLittle},
		{"beside its own", "2,2,3", .95, suspect{filesKnown: true}, 0},
		{"perhaps", "2,3,4", .7, suspect{filesKnown: true}, 0},
		{"files", "2,3,4", .95, suspect{filesKnown: true, file: true}, 0},
		{"its files are not measured", "2,3,4", .95, suspect{}, 0},
	} {
		rc := &regionCase{in: &s.interval}
		rc.ends.endings.Any, rc.ends.endings.AtNodes = root.Ending{Found: true, Device: at, Link: schema.NoLink}, c.atNodes
		c.suspect.known, c.suspect.job = true, &job{Job: &history.Job{Devices: hostsOf(t, s.graph, c.node)}}
		if got := gridOf(rc).endScore(&c.suspect); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
