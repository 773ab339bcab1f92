package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

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
	if score := rc.rules().endScore(&reader); score > -jobTooLittle {
		t.Errorf("a job that reads elsewhere has a score of %v", score)
	}
	if rc.back.Root.Link = roottest.Link(t, g, "leaf0>spine0"); rc.endsAtNoJob() {
		t.Error("the root leads to a switch")
	}
}

// TestTrafficEndsAtHosts: at an incast at a switch, what a job sends ends at a host of it there or, if it writes, at a
// host of no job; or wherever, if hardly any hosts but its own wait to send there.
func TestTrafficEndsAtHosts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	place := func(id string, nodes ...string) *job {
		j := &job{Job: &history.Job{Job: schema.Job{ID: id, Nodes: nodes}}}
		j.Place(g)
		s.settle(j)
		return j
	}
	here, away := place("1", "host0", "host3"), place("2", "host1", "host2")
	leaf1, _ := g.FindDevice("leaf1")
	uplink, ownLink, other := roottest.Link(t, g, "leaf0>spine0"), roottest.Link(t, g, "host1>leaf0"), roottest.Link(t, g, "host0>leaf0")
	for name, c := range map[string]struct {
		suspect suspect
		kind    string
		waiting []schema.LinkID
		cannot  bool
	}{
		"a job there":        {suspect: suspect{job: here, filesKnown: true}, kind: schema.RootIncast},
		"a job elsewhere":    {suspect: suspect{job: away, filesKnown: true}, kind: schema.RootIncast, cannot: true},
		"its hosts wait":     {suspect: suspect{job: away, filesKnown: true}, kind: schema.RootIncast, waiting: []schema.LinkID{ownLink, uplink}},
		"others wait, too":   {suspect: suspect{job: away, filesKnown: true}, kind: schema.RootIncast, waiting: []schema.LinkID{ownLink, other}, cannot: true},
		"no host waits":      {suspect: suspect{job: away, filesKnown: true}, kind: schema.RootIncast, waiting: []schema.LinkID{uplink}, cannot: true},
		"it writes":          {suspect: suspect{job: away, filesKnown: true, file: true, feature: history.Write}, kind: schema.RootIncast},
		"it reads":           {suspect: suspect{job: away, filesKnown: true, file: true}, kind: schema.RootIncast, cannot: true},
		"files not measured": {suspect: suspect{job: away}, kind: schema.RootIncast},
		"before a link":      {suspect: suspect{job: away, filesKnown: true}, kind: schema.RootLinkCapacity},
	} {
		rc := &regionCase{in: &s.interval, region: &schema.Region{Links: c.waiting}, waits: []float64{.5, .5}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf1, Kind: c.kind, Share: 1}}}
		if got := directedOf(rc).cannotEndAt(&c.suspect); got != c.cannot {
			t.Errorf("%s: it cannot end there: %v", name, got)
		}
	}
}

// TestAGatherMovesWhatPortsCarry: at an incast at a switch, a job whose total fell at the onset to what the port of a
// host carries sends all to its host there, and one whose total is constant since, and that of a few ports, to a few.
// Other jobs that lost traffic were held up.
func TestAGatherMovesWhatPortsCarry(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := g.Capacity(roottest.Link(t, g, "leaf0>host0")) * 60
	leaf0, _ := g.FindDevice("leaf0")
	for name, c := range map[string]struct {
		before, since, varies float64 // what it moves, as a share of what a port carries
		nodes                 []string
		kind                  string
		want                  bool
	}{
		"a gather":      {2.5, 1.05, .05, []string{"host0", "host3"}, schema.RootIncast, true},
		"two receivers": {5, 2.03, .01, []string{"host0", "host3"}, schema.RootIncast, true},
		"it varies":     {5, 2.03, .2, []string{"host0", "host3"}, schema.RootIncast, false},
		"many":          {9, 5.02, .01, []string{"host0", "host3"}, schema.RootIncast, false},
		"held up":       {2.5, 1.4, .01, []string{"host0", "host3"}, schema.RootIncast, false},
		"as before":     {1.05, 1.05, .01, []string{"host0", "host3"}, schema.RootIncast, false},
		"elsewhere":     {2.5, 1.05, .01, []string{"host3", "host4"}, schema.RootIncast, false},
		"before a link": {2.5, 1.05, .01, []string{"host0", "host3"}, schema.RootLinkCapacity, false},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history = remembersAt(g, history.Clock{Duration: 60e9, Now: 14})
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: c.nodes}}}
		j.Place(g)
		s.settle(j)
		const onset = 10
		for slot := range int64(15) {
			moves := c.before
			if slot >= onset {
				moves = c.since + c.varies*float64(slot%2*2-1)/2
			}
			s.history.TrafficOf(j.Job).Set(history.RDMAWrite, slot, moves*port)
		}
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 15), onset: onset}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf0, Kind: c.kind, Share: 1}}}
		if got := rc.rules().receives(&suspect{job: j, known: true}); got != c.want {
			t.Errorf("%s: one of its hosts receives all: %v", name, got)
		}
	}
}

// TestWhereATrafficDoesNotEnd: a suspect whose traffic does not use the root may still load it with files that were not
// measured; not if these are known and the root is the port of a host: then nothing of it ends there.
func TestWhereATrafficDoesNotEnd(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, host := g.Ends(roottest.Link(t, g, "leaf0>host0"))
	s.tenants[host] = []*job{{Job: &history.Job{}}}
	const nothing = -jobTooLittle
	for name, c := range map[string]struct {
		link, kind string
		suspect    suspect
		want       float64
	}{
		"a link, files known":          {"leaf0>spine0", schema.RootLinkCapacity, suspect{filesKnown: true}, -jobElsewhere},
		"a link, files unknown":        {"leaf0>spine0", schema.RootLinkCapacity, suspect{}, -jobElsewhere},
		"a link that a reader fills":   {"leaf0>spine0", schema.RootLinkCapacity, suspect{file: true, filesKnown: true}, 0},
		"a job's host, files known":    {"leaf0>host0", schema.RootIncast, suspect{filesKnown: true}, nothing},
		"a job's host, files unknown":  {"leaf0>host0", schema.RootIncast, suspect{}, -jobElsewhere},
		"a job's host, and it reads":   {"leaf0>host0", schema.RootIncast, suspect{file: true, filesKnown: true}, nothing},
		"a host of no job, unknown":    {"leaf1>host3", schema.RootIncast, suspect{}, 0},
		"its own traffic goes there":   {"leaf0>host0", schema.RootIncast, suspect{atRoot: true, filesKnown: true}, 0},
		"a deadlock has no such place": {"leaf0>spine0", schema.RootDeadlock, suspect{filesKnown: true}, 0},
	} {
		rc := &regionCase{in: &s.interval, region: &schema.Region{}, back: root.BackPressure{Root: root.Port{Kind: c.kind, Link: roottest.Link(t, g, c.link)}}}
		c.suspect.job, c.suspect.known = &job{Job: &history.Job{}}, true
		if got := rc.rules().endScore(&c.suspect); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
