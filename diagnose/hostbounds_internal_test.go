package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
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
			if got := (&regionCase{in: &s.interval, p: p}).mayHaveMore([]topology.DeviceID{host}, l, true); got != want/100*g.Capacity(l) {
				t.Errorf("%v: %s: %g of its capacity, want %g%%", load, link, got/g.Capacity(l), want)
			}
		}
	}
}
