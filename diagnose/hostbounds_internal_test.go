package diagnose

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhatAHostSendsMayBeItsJobs: all traffic on the link that leaves a host is its job's, if other nodes of the job
// take it in.
func TestWhatAHostSendsMayBeItsJobs(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	p, _ := readings(t, g, nil, map[string]float64{"host0>leaf0": 50, "leaf0>host0": 40, "host2>leaf1": 40, "leaf1>host2": 50})
	p.Before = func(schema.LinkID) float64 { return 0 }
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host2"}}}}
	j.Place(g)
	l := roottest.Link(t, g, "host0>leaf0")
	rc := &regionCase{in: &s.interval, p: p}
	if b := rc.boundOn(j, l, false); b.recent != .5*g.Capacity(l) {
		t.Errorf("host0 sends at %g of its link's %g bytes/s, want half", b.recent, g.Capacity(l))
	}
}

// TestAPartOfAPortIsEnough: no job of several that contend for a port moves half of its load. If a job's hosts bound
// its load there, a quarter of the port clears the job, two fifths do not; on a grid, without a bound, two fifths do.
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
		j.recent = moves{known: true, all: moved, files: moved}
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: port, carries: g.Capacity(port)}}
		if got := rc.scores().tooLittlePenalty(&suspect{job: j, file: true, filesKnown: true, known: true}); got > 0 != c.against {
			t.Errorf("%s, %g%% by each: %.1f against the job", c.fabric, c.percent, got)
		}
	}
}

// TestWhoFillsAPort: a job cannot have filled a port if it moves a small part of the port's load, or grew by a small
// part of what was added. If the port leads to a host of that job alone, and the job moves as much, the port's load is
// the job's, even if the job's total is unchanged, its other hosts send little, as it reads from elsewhere, or the port
// was as full before.
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
		p, _ := readings(t, g, nil, map[string]float64{"leaf0>host0": 100, "host1>leaf0": c.sends, "host2>leaf0": 10, "host0>leaf0": 1, "leaf0>host1": 1, "leaf0>host2": 1})
		p.Before = func(schema.LinkID) float64 { return c.before }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		port := roottest.Link(t, g, "leaf0>host0")
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host1", "host2"}}, Traffic: &history.Traffic{}}}
		j.Place(g)
		unit := g.Capacity(port) / 100 * 60
		j.recent = moves{known: true, all: c.moves * unit}
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 4), onset: 2}, root: rootLoad{link: port, carries: g.Capacity(port), added: (100 - c.before) / 100 * g.Capacity(port)}}
		rc.back = root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}
		j.baseline = moves{known: true, slots: rc.timeline.baseline(), all: c.was * unit}
		suspect := &suspect{job: j, known: true, filesKnown: true}
		if got := rc.scores().tooLittlePenalty(suspect); (got == 0) != c.able {
			t.Errorf("%g%% before: %.1f against a job that moves %g%% and moved %g%%", c.before, got, c.moves, c.was)
		}
		if got := rc.ground().receives(suspect); got != c.ownReceives {
			t.Errorf("%g%% before, %g%% moved: what arrives is the job's: %v", c.before, c.moves, got)
		}
	}
}

// TestOthersFillAJobsPort: what was added to the full port to a host of a job is not the job's if its hosts send no
// more than before, nor it moves more or reads files, and most of the stall lies off its exchange: hosts of another job
// send there.
func TestOthersFillAJobsPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for _, c := range []struct {
		cross             float64
		sends, was, reads float64 // by its other hosts now, by the job before and from files at most, percent of the port's capacity
		moves             float64 // by the job now
		own               bool
	}{
		{.5, 30, 95, 0, 100, false},
		{.5, 80, 95, 0, 100, true},
		{.5, 30, 5, 0, 100, true},
		{.5, 30, 95, 80, 100, true},
		{.9, 30, 95, 0, 100, true},
		{.5, 30, 1000, 0, 1000, true}, // its hosts' links carry too little of it to bound it
	} {
		p, _ := readings(t, g, nil, map[string]float64{"leaf0>host0": 100, "host1>leaf0": c.sends, "host2>leaf0": 30, "host0>leaf0": 30, "leaf0>host1": 30, "leaf0>host2": 30})
		port := roottest.Link(t, g, "leaf0>host0")
		p.Before = func(schema.LinkID) float64 { return 30 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host1", "host2"}}, Traffic: &history.Traffic{}}}
		j.Place(g)
		unit := g.Capacity(port) / 100 * 60
		j.recent, j.maximal = moves{known: true, all: c.moves * unit}, true
		j.maxima[history.Read] = c.reads * unit
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 4), onset: 2}, root: rootLoad{link: port, carries: g.Capacity(port), added: .7 * g.Capacity(port)}}
		rc.back = root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}
		j.baseline = moves{known: true, slots: rc.timeline.baseline(), all: c.was * unit}
		if got := rc.ground().receives(&suspect{job: j, known: true, filesKnown: true, cross: c.cross}); got != c.own {
			t.Errorf("%+v: what arrives is the job's: %v", c, got)
		}
	}
}

// TestAFullStorageNodeIsShared: a job that writes half of what a full port to a host without a job carries is able to
// congest it if another job that writes has lost traffic since.
func TestAFullStorageNodeIsShared(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for _, lost := range []float64{0, .5} {
		p, _ := readings(t, g, nil, map[string]float64{"leaf0>host0": 100})
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		port := roottest.Link(t, g, "leaf0>host0")
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 4), onset: 2}, root: rootLoad{link: port, carries: g.Capacity(port)}}
		rc.back = root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}
		half := g.Capacity(port) / 2 * 60
		for i, host := range []string{"host1", "host2"} {
			j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}, Traffic: history.NewTraffic(20, 0)}, recent: moves{known: true, all: half, files: half}}
			j.Traffic.Set(history.Write, 0, half)
			j.Place(g)
			j.lost = loss{cached: true, onset: rc.timeline.began(), share: lost * float64(i)}
			rc.suspects = append(rc.suspects, suspect{job: j, known: true, file: true, filesKnown: true})
		}
		if got := rc.scores().tooLittlePenalty(&rc.suspects[0]); (got == 0) != (lost > 0) {
			t.Errorf("%.1f against a job while the other lost %g", got, lost)
		}
	}
}

// TestWritersTogether: several jobs that write fill a full port to a host without a job together, unless one does
// alone; a job with a small part of what they write does not join them.
func TestWritersTogether(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
	for _, c := range []struct {
		shares []float64 // of the port, by job
		able   []bool
	}{
		{[]float64{.35, .35, .3}, []bool{true, true, true}},
		{[]float64{.85, .35}, []bool{true, false}},
		{[]float64{.5, .4, .1}, []bool{true, true, false}},
		{[]float64{.3}, []bool{false}},
	} {
		p, _ := readings(t, g, nil, map[string]float64{"leaf0>host0": 100, "host1>leaf0": 100, "host2>leaf0": 100, "host3>leaf0": 100})
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		port := roottest.Link(t, g, "leaf0>host0")
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: port, carries: g.Capacity(port)}, back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}}
		for i, share := range c.shares {
			host := fmt.Sprint("host", i+1)
			j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}, Traffic: history.NewTraffic(20, 0)}}
			j.Place(g)
			j.Traffic.Set(history.Write, 0, share*g.Capacity(port)*60)
			rc.suspects = append(rc.suspects, suspect{job: j, known: true, file: true, filesKnown: true, evidence: evidence{rise: 1}})
		}
		for i := range rc.suspects {
			if got := rc.scores().tooLittlePenalty(&rc.suspects[i]); (got < .5) != c.able[i] {
				t.Errorf("%v: %.1f against job %d", c.shares, got, i)
			}
		}
	}
}

// TestPortToAStorageNode: the load of a port to a host without a job can be any job's file traffic.
func TestPortToAStorageNode(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	port := roottest.Link(t, g, "leaf0>host0")
	rc := &regionCase{in: &s.interval, back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast}}}
	if !rc.endsAtNoJob() {
		t.Error("no job runs at the root's host")
	}
	_, host := g.Ends(port)
	if s.tenants[host] = []*job{{Job: &history.Job{}}}; rc.endsAtNoJob() || !rc.endsAtJob() {
		t.Error("a job runs there")
	}
	reader := suspect{file: true, filesKnown: true, job: &job{Job: &history.Job{}}}
	if score := rc.ground().endScore(&reader); score > -jobTooLittle {
		t.Errorf("a job that reads elsewhere has a score of %v", score)
	}
	if rc.back.Root.Link = roottest.Link(t, g, "leaf0>spine0"); rc.endsAtNoJob() {
		t.Error("the root leads to a switch")
	}
}

// TestBeforeAJobBegan: a job's traffic before an onset is a mean over the slots in which it ran, given with the share
// of these slots.
func TestBeforeAJobBegan(t *testing.T) {
	s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 10, Now: 9})}}
	j := &job{Job: &history.Job{Job: schema.Job{Start: 50}, Traffic: history.NewTraffic(20, 9)}}
	for slot := int64(5); slot < 9; slot++ {
		j.Traffic.Set(history.RDMAWrite, slot, 8)
	}
	if all, files, ran := s.movedIn(j, []int64{8, 7, 6, 5, 4, 3, 2, 1}); all != 8 || files != 0 || ran != .5 {
		t.Errorf("moved %v, files %v, ran in %v of the slots", all, files, ran)
	}
}

// A job that writes files must explain three quarters of a full port to a host without a job: half clears the job
// there, but not if the host is another job's. What a job reads does not arrive there.
func TestHalfOfAStorageNodesPortIsTooLittle(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
	port := roottest.Link(t, g, "leaf0>host0")
	for _, c := range []struct {
		share   float64
		tenant  string
		files   history.Feature
		against bool
	}{{.5, "", history.Write, true}, {.8, "", history.Write, false}, {.8, "", history.Read, true}, {.5, "host0", history.Write, false}} {
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
		j.recent = moves{known: true, all: moved, files: moved}
		rc := &regionCase{in: &s.interval, p: p, timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: port, carries: g.Capacity(port)}, back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 100}}}
		if got := rc.scores().tooLittlePenalty(&suspect{job: j, file: true, filesKnown: true, known: true}); got > 0 != c.against {
			t.Errorf("%.1f of the port, host of %q: %.1f against the job", c.share, c.tenant, got)
		}
	}
}

// TestHostsTakeWhatWasAdded: what was added to a full link down a tree is that of a job that reads, whenever its table
// counts that, if the job's hosts behind the link take in as much more, others' hosts do not, and no failed link
// explains it.
func TestHostsTakeWhatWasAdded(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=2")
	for _, c := range []struct {
		name               string
		own, others, moved float64 // percent of a link that its hosts and others' take in more, and the part that failed links carried
		files              float64 // of what it moves
		want               bool
	}{
		{"its hosts take it in", 60, 0, 0, 1, true},
		{"others' hosts do", 0, 60, 0, 1, false},
		{"both do", 60, 60, 0, 1, false},
		{"it exchanges", 60, 0, 0, 0, false},
		{"a failed link carried it", 60, 0, .5, 1, false},
	} {
		p, _ := readings(t, g, nil, map[string]float64{"spine0>leaf1": 95, "leaf1>host4": 10 + c.own, "leaf1>host5": 10 + c.others})
		p.Before = func(l schema.LinkID) float64 {
			return map[bool]float64{true: 35, false: 10}[l == roottest.Link(t, g, "spine0>leaf1")]
		}
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read, s.hosts = &p.Readings, nil
		for d := range topology.DeviceID(g.NumDevices()) {
			if !g.IsSwitch(d) {
				s.hosts = append(s.hosts, d)
			}
		}
		port := roottest.Link(t, g, "spine0>leaf1")
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host4"}}, Traffic: &history.Traffic{}}, recent: moves{known: true, all: 100, files: 100 * c.files}}
		j.Place(g)
		rc := &regionCase{in: &s.interval, p: p, rerouted: c.moved, root: rootLoad{link: port, carries: .95 * g.Capacity(port), added: .6 * g.Capacity(port)}}
		rc.back = root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootLinkCapacity, Use: 95}}
		rc.suspects = []suspect{{job: j, known: true}}
		rc.findAddedBelow()
		if got := rc.ground().receives(&rc.suspects[0]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
