package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAPartOfAPortIsEnough: no job of several that contend for a port moves half of its load. A quarter of the port
// clears a job, two fifths do not; on a grid, where all links of a switch are compared, two fifths do.
func TestAPartOfAPortIsEnough(t *testing.T) {
	for _, c := range []struct {
		fabric, root, first, second string
		percent                     float64 // that each of the job's two nodes sends
		against                     bool
	}{
		{"fattree:leaves=2,hosts=3,spines=1", "leaf0>host0", "host1>leaf0", "host2>leaf0", 20, false},
		{"fattree:leaves=2,hosts=3,spines=1", "leaf0>host0", "host1>leaf0", "host2>leaf0", 12, true},
		{"torus:4x4", "0,0>1,0", "3,0>0,0", "2,0>3,0", 20, true},
	} {
		g := roottest.Graph(t, c.fabric)
		p, _ := readings(t, g, nil, map[string]float64{c.root: 100, c.first: c.percent, c.second: c.percent})
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		port := roottest.Link(t, g, c.root)
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Traffic: &history.Traffic{}}}
		for _, sends := range []string{c.first, c.second} {
			from, _ := g.Ends(roottest.Link(t, g, sends))
			j.Nodes = append(j.Nodes, g.Device(from).Name)
		}
		j.Place(g)
		moved := 2 * c.percent / 100 * g.Capacity(port) * 60
		j.recent = cachedVolume{known: true, volume: volume{all: moved, files: moved}}
		rc := &regionCase{in: &s.interval, pressure: p, timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: port, carries: g.Capacity(port)}}
		if got := rc.tooLittlePenalty(&suspect{job: j, file: true, filesKnown: true, known: true}); got > 0 != c.against {
			t.Errorf("%s, %g%% by each: %.1f against the job", c.fabric, c.percent, got)
		}
	}
}

// incastAt is the case of a region whose stall begins at a full port, in intervals of a minute, with its onset in the
// third of four.
func incastAt(t *testing.T, g *topology.Graph, port string, uses map[string]float64) *regionCase {
	t.Helper()
	p, _ := readings(t, g, nil, uses)
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	s.history.Clock.Duration = 60e9
	l := roottest.Link(t, g, port)
	return &regionCase{in: &s.interval, pressure: p, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 4), onset: 2},
		root: rootLoad{link: l, carries: g.Capacity(l)}, back: root.BackPressure{Root: root.Port{Link: l, Kind: schema.RootIncast, Use: 100}}}
}

// TestWhoFillsAPort: a job cannot have filled a port if it moves a small part of the port's load. If the port leads to
// a host of that job alone, and the job moves as much, the port's load is the job's, even if the job's total is
// unchanged, its other hosts send little, as it reads from elsewhere, or the port was as full before.
func TestWhoFillsAPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for _, c := range []struct {
		before            float64 // percent that the port carried
		moves, was        float64 // by the job, percent of the port's capacity
		sends             float64 // by another of its hosts, percent
		able, ownReceives bool
	}{
		{85, 20, 2, 100, false, false},
		{85, 95, 90, 100, true, true},
		{85, 95, 90, 5, true, true},
		{10, 20, 2, 100, false, false},
		{10, 95, 4, 100, true, true},
		{10, 95, 4, 5, true, true},
		{10, 95, 90, 100, true, true},
	} {
		rc := incastAt(t, g, "leaf0>host0", map[string]float64{"leaf0>host0": 100, "host1>leaf0": c.sends, "host2>leaf0": 10, "host0>leaf0": 1, "leaf0>host1": 1, "leaf0>host2": 1})
		rc.pressure.Before = func(schema.LinkID) float64 { return c.before }
		port := rc.root.link
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host1", "host2"}}, Traffic: &history.Traffic{}}}
		j.Place(g)
		unit := g.Capacity(port) / 100 * 60
		j.recent = cachedVolume{known: true, volume: volume{all: c.moves * unit}}
		rc.root.added = (100 - c.before) / 100 * g.Capacity(port)
		j.baseline = cachedVolume{known: true, slots: rc.timeline.baseline(), volume: volume{all: c.was * unit}}
		suspect := &suspect{job: j, known: true, filesKnown: true}
		if got := rc.tooLittlePenalty(suspect); (got == 0) != c.able {
			t.Errorf("%g%% before: %.1f against a job that moves %g%% and moved %g%%", c.before, got, c.moves, c.was)
		}
		if got := rc.rules().receives(suspect); got != c.ownReceives {
			t.Errorf("%g%% before, %g%% moved: what arrives is the job's: %v", c.before, c.moves, got)
		}
	}
}

// TestWhatFillsAStorageNodesPort: what a job writes may fill a full port to a host without a job, but not what it reads:
// that does not arrive there.
func TestWhatFillsAStorageNodesPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
	port := roottest.Link(t, g, "leaf0>host0")
	for _, c := range []struct {
		share   float64
		tenant  string
		files   history.Feature
		against bool
	}{{.25, "", history.Write, true}, {.8, "", history.Write, false}, {.8, "", history.Read, true}, {.5, "host0", history.Write, false}} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock.Duration = 60e9
		if c.tenant != "" {
			other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{c.tenant}}}}
			other.Place(g)
			s.settle(other)
		}
		p, _ := readings(t, g, nil, map[string]float64{"leaf0>host0": 100, "host4>leaf1": 50, "host5>leaf1": 50})
		s.read = &p.Readings
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host4", "host5"}}, Traffic: history.NewTraffic(20, 0)}}
		j.Place(g)
		moved := c.share * g.Capacity(port) * 60
		j.Traffic.Set(c.files, 0, moved)
		j.recent = cachedVolume{known: true, volume: volume{all: moved, files: moved}}
		rc := &regionCase{in: &s.interval, pressure: p, timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: port, carries: g.Capacity(port)}, back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}}
		if got := rc.tooLittlePenalty(&suspect{job: j, file: true, filesKnown: true, known: true}); got > 0 != c.against {
			t.Errorf("%.1f of the port, host of %q: %.1f against the job", c.share, c.tenant, got)
		}
	}
}

// TestFilesCongestByWhatTheyAdd: where neither the region nor its end on a grid carries more than before, file traffic
// is not the cause, whatever it did at the onset.
func TestFilesCongestByWhatTheyAdd(t *testing.T) {
	file := suspect{file: true, known: true}
	for name, c := range map[string]struct {
		suspect       suspect
		load, arrives float64
		against       float64
	}{
		"less everywhere":     {file, .8, .6, jobTooLittle},
		"as much as before":   {file, 1, .6, jobTooLittle / 2},
		"more at the end":     {file, .8, 1.2, 0},
		"more in the region":  {file, 1.3, 0, 0},
		"no load is measured": {file, 0, 0, 0},
		"an exchange":         {suspect{known: true}, .8, .6, 0},
	} {
		rc := regionCase{load: times(c.load), ends: ends{arrives: times(c.arrives)}}
		if got := gridOf(&rc).addsNone(&c.suspect); math.Abs(got-c.against) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}

// TestAJobIsComparedWithTheCapacity: without load readings a job that moves a small part of what the congested links
// can carry is not able to congest them, however well it correlates.
func TestAJobIsComparedWithTheCapacity(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock.Duration = 60e9
	p, links := readings(t, g, map[string]float64{"host0>leaf0": 40}, nil)
	s.read = &p.Readings
	rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: links}, weight: make([]float64, len(links)), timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: schema.NoLink}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}}}
	rc.root.carries = rc.assumedLoad()
	for share, want := range map[float64]float64{0: jobTooLittle, assumedUse * culpritShare / 2: jobTooLittle, .3: 0} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0"}}, Traffic: &history.Traffic{}}, recent: cachedVolume{known: true, volume: volume{all: share * g.Capacity(links[0]) * 60}}}
		j.Place(g)
		if got := rc.tooLittlePenalty(&suspect{job: j, known: true}); math.Abs(got-want) > 1e-6 {
			t.Errorf("%.1f against a job that moves %g of the capacity, want %.1f", got, share, want)
		}
	}
}

// TestTheFullPortOfAnIncast: without load readings the port of an incast is full while a link waits for it. What one job
// exchanges fills that, or most of it; several jobs may share one for their files.
func TestTheFullPortOfAnIncast(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	leaf1, _ := g.FindDevice("leaf1")
	for name, c := range map[string]struct {
		kind    string
		file    bool
		moves   float64 // as a share of the capacity
		against float64
	}{
		"all that it carries": {schema.RootIncast, false, .8, 0},
		"half of it":          {schema.RootIncast, false, .4, jobTooLittle * shortOf(.5, addedShare, addedEnough)},
		"half, of files":      {schema.RootIncast, true, .4, 0},
		"before a link":       {schema.RootLinkCapacity, false, .4, 0},
	} {
		rc, mine := regionOfTwo(t, g, map[string]float64{"spine0>leaf1": 80})
		rc.in.history.Clock.Duration = 60e9
		rc.weight, rc.back = rc.waits, root.BackPressure{Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf1, Kind: c.kind, Share: 1}}
		rc.root.carries = rc.assumedLoad()
		all := c.moves * g.Capacity(rc.region.Links[0]) * 60
		mine.Traffic, mine.recent = &history.Traffic{}, cachedVolume{known: true, volume: volume{all: all, files: all}}
		if got := rc.tooLittlePenalty(&suspect{job: mine, known: true, file: c.file, filesKnown: true}); math.Abs(got-c.against) > 1e-6 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}

// TestNoPartOnATorus: without load readings an exchange that moves next to nothing of a region's traffic has no part in
// it. Where load is measured, the links show what it adds, and files count by what they add.
func TestNoPartOnATorus(t *testing.T) {
	for _, c := range []struct {
		suspect suspect
		loads   bool
		want    float64
	}{
		{suspect{known: true, share: .01}, false, jobAbsent},
		{suspect{known: true, share: (partShare + noPart) / 2}, false, jobAbsent / 2},
		{suspect{known: true, share: .3}, false, 0},
		{suspect{share: .01}, false, 0},
		{suspect{known: true, file: true, share: .01}, false, 0},
		{suspect{known: true, share: .01}, true, 0},
	} {
		_, rc, j, _ := endScene(t, 1.5, 0, "1,1,0", "1,1,1")
		rc.in.measuresLoad, rc.root.carries, c.suspect.job = c.loads, 0, j
		if got := rc.rules().misfitPenalty(&c.suspect); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v against it", c, got)
		}
	}
}

func TestShortOfEnough(t *testing.T) {
	for _, c := range []struct{ share, least, enough, want float64 }{
		{.6, .25, .5, 0},
		{.5, .25, .5, 0},
		{.375, .25, .5, .5},
		{.25, .25, .5, 1},
		{.125, .25, .5, 1},
		{0, .25, .5, 1},
	} {
		if got := shortOf(c.share, c.least, c.enough); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
