package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

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

// TestTheOnlyReceiver: the port at the switch where stall ends is known if one host of the accused job is there, not if
// two are or none.
func TestTheOnlyReceiver(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	leaf, _ := g.Ends(roottest.Link(t, g, "leaf0>host0"))
	for name, c := range map[string]struct {
		nodes []string
		want  schema.LinkID
	}{
		"one host":         {[]string{"host0", "host3"}, roottest.Link(t, g, "leaf0>host0")},
		"two hosts":        {[]string{"host0", "host1", "host3"}, schema.NoLink},
		"none at this one": {[]string{"host3", "host4"}, schema.NoLink},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: c.nodes}}}
		j.Place(g)
		rc := &regionCase{in: &s.interval, suspects: []suspect{{job: j}}, verdict: verdict{accused: 1}, back: root.BackPressure{Switch: root.Switch{Device: leaf, Share: 1}}}
		got := schema.NoLink
		if port := rc.onlyReceiver(); port != nil {
			got = port.Link
		}
		if got != c.want {
			t.Errorf("%s: port %d, want %d", name, got, c.want)
		}
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
			if got := (&regionCase{in: &s.interval, p: p}).mayHaveMore([]topology.DeviceID{host}, l, true); got != want/100*g.Capacity(l) {
				t.Errorf("%v: %s: %g of its capacity, want %g%%", load, link, got/g.Capacity(l), want)
			}
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
		rc := &regionCase{in: &u.stage.interval, p: u.p, region: &schema.Region{}, ends: ends{drain: c.drain, sender: sender, fullLink: schema.NoLink, neck: root.Neck{Link: schema.NoLink}}}
		if got := rc.rules().endScore(&suspect{job: c.job, known: c.known}); (got == jobConverges) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
