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
	rc := &regionCase{in: &s.interval, pressure: p}
	if more := rc.mayHaveMore(j.Devices, l, false); more != .5*g.Capacity(l) {
		t.Errorf("host0 sends %g bytes/s more of its link's %g, want half", more, g.Capacity(l))
	}
}

// TestWhichLoadBoundsALink: a host bounds the load of a link by what it sends if shortest paths lead from it over the
// link, and by what it takes in if they lead to it; not by the other, however much that is.
func TestWhichLoadBoundsALink(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, host := g.Ends(roottest.Link(t, g, "leaf0>host0"))
	for _, load := range []struct{ sends, takes float64 }{{30, 50}, {70, 20}} {
		p, _ := readings(t, g, nil, map[string]float64{"host0>leaf0": load.sends, "leaf0>host0": load.takes})
		p.Before = func(schema.LinkID) float64 { return 0 }
		s.read = &p.Readings
		for link, want := range map[string]float64{"host0>leaf0": load.sends, "leaf0>spine0": load.sends, "spine0>leaf1": load.sends, "leaf2>host4": load.sends,
			"leaf0>host0": load.takes, "spine0>leaf0": load.takes, "leaf1>spine0": load.takes, "host4>leaf2": load.takes} {
			l := roottest.Link(t, g, link)
			if got := (&regionCase{in: &s.interval, pressure: p}).mayHaveMore([]topology.DeviceID{host}, l, true); got != want/100*g.Capacity(l) {
				t.Errorf("%v: %s: %g of its capacity, want %g%%", load, link, got/g.Capacity(l), want)
			}
		}
	}
}

// TestWhatLeavesAJobGoesToOthersHosts: if a job's hosts send beyond what they take in as much as was added to the root,
// and a host of no job or of another takes that in, they send it there, unless the traffic table lacks it: then it is of a job that no
// table lists, on the same hosts.
func TestWhatLeavesAJobGoesToOthersHosts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	out, in := roottest.Link(t, g, "host0>leaf0"), roottest.Link(t, g, "leaf1>host3")
	const within, added, onset = 20., 60., 10 // percent of a port
	for name, c := range map[string]struct {
		leaves     float64 // percent
		listed     float64 // what it moves by a table of RDMA, percent of a port; 0: there is none
		root, kind string
		takers     []string // hosts of another job
		stored     float64  // percent of a port that a host of no job takes in, beside
		want       float64
	}{
		"at another job's host":   {leaves: 60, root: "leaf1>host4", kind: schema.RootIncast, takers: []string{"host4"}, want: 1},
		"more than there":         {leaves: 79, root: "leaf1>host4", kind: schema.RootIncast, takers: []string{"host4"}, want: 1},
		"most is for storage":     {leaves: 79, root: "leaf1>host4", kind: schema.RootIncast, takers: []string{"host4"}, stored: 60},
		"its own nodes send it":   {leaves: 60, root: "leaf1>host4", kind: schema.RootIncast, takers: []string{"host1", "host4"}},
		"all of it":               {leaves: 60, root: "leaf1>host4", kind: schema.RootIncast, want: 1},
		"and the table has it":    {leaves: 60, listed: 78, root: "leaf1>host4", kind: schema.RootIncast, want: 1},
		"the table has it not":    {leaves: 60, listed: 22, root: "leaf1>host4", kind: schema.RootIncast},
		"others send a part":      {leaves: 48, root: "leaf1>host4", kind: schema.RootIncast, want: .5},
		"others send most":        {leaves: 20, root: "leaf1>host4", kind: schema.RootIncast},
		"much more than there":    {leaves: 79, root: "leaf1>host4", kind: schema.RootIncast, want: 1},
		"the host takes little":   {leaves: 60, root: "leaf1>host4", kind: schema.RootSlowReceiver},
		"over a link":             {leaves: 60, root: "spine0>leaf1", kind: schema.RootLinkCapacity, want: 1},
		"more than over the link": {leaves: 79, root: "spine0>leaf1", kind: schema.RootLinkCapacity},
		"another link":            {leaves: 60, root: "spine0>leaf0", kind: schema.RootLinkCapacity},
	} {
		p, _ := readings(t, g, nil, map[string]float64{"host0>leaf0": within + c.leaves, "leaf1>host3": within, "leaf1>host4": added, c.root: added, "host1>leaf0": 50, "leaf1>host5": c.stored})
		p.Before = func(l schema.LinkID) float64 {
			if l == out || l == in {
				return within
			}
			return 0
		}
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history = remembersAt(g, history.Clock{Duration: 60e9, Now: 14})
		s.read, s.measuresLoad = &p.Readings, true
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}
		j.Place(g)
		s.settle(j)
		if c.takers != nil {
			taker := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: c.takers}}}
			taker.Place(g)
			s.settle(taker)
		}
		use := s.history.Track(schema.BandwidthUsed)
		for slot := int64(onset); slot < 15; slot++ {
			row := use.Row(slot)
			clear(row)
			row[out], row[in] = uint8(history.LevelsPerPercent*(within+c.leaves)), uint8(history.LevelsPerPercent*within)
			if c.listed > 0 {
				s.history.TrafficOf(j.Job).Listed[history.RDMAWrite] = true
				j.Traffic.Set(history.RDMAWrite, slot, c.listed/100*g.Capacity(out)*60)
			}
		}
		port := roottest.Link(t, g, c.root)
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 15), onset: onset},
			root: rootLoad{link: port, carries: added / 100 * g.Capacity(port), added: added / 100 * g.Capacity(port)}, back: root.BackPressure{Root: root.Port{Link: port, Kind: c.kind}}}
		rc.rules().findSink()
		suspect := suspect{job: j, known: true, filesKnown: true}
		suspect.leaves = rc.rules().leaving(&suspect)
		if math.Abs(suspect.leaves-c.want) > 1e-6 {
			t.Errorf("%s: it sends there by %v, want %v", name, suspect.leaves, c.want)
		}
		if more, want := directedOf(rc).mayHaveAdded(&suspect), c.leaves/100*g.Capacity(out); c.want > 0 && math.Abs(more-want) > 1 {
			t.Errorf("%s: it may have added %v to the port, want %v", name, more, want)
		}
		if rc.suspects = append(rc.suspects, suspect); c.want == 1 && rc.rules().unlistedPart(1) > 1e-6 {
			t.Errorf("%s: others, which send elsewhere, have %v times its blame", name, rc.rules().unlistedPart(1))
		}
		s.comparable = true
		if absent := rc.rules().misfitPenalty(&suspect) - rc.tooLittlePenalty(&suspect); math.Abs(absent-jobAbsent*(1-c.want)) > 1e-6 {
			t.Errorf("%s: %v against its part in the region", name, absent)
		}
		if score, want := rc.rules().endScore(&suspect), jobReceives*c.want-jobTooLittle*(1-c.want); rc.endsAtNoJob() && math.Abs(score-want) > 1e-6 {
			t.Errorf("%s: the score is %v, want %v", name, score, want)
		}
	}
}
