package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestWhatAHostSendsMayBeItsJobs: on the link that leaves a host all is its job's, if other nodes of the job take it in.
func TestWhatAHostSendsMayBeItsJobs(t *testing.T) {
	g := graphOf(t, "fattree:leaves=2,hosts=2,spines=1")
	p, _, _ := readings(t, g, nil, map[string]float64{"host0>leaf0": 50, "leaf0>host0": 40, "host2>leaf1": 40, "leaf1>host2": 50})
	p.before = func(schema.LinkID) float64 { return 0 }
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	j := &job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host2"}}}
	j.place(g)
	l := linkBetween(t, g, "host0>leaf0")
	if b := s.boundOn(j, l, false, p); b.now != .5*g.Capacity(l) {
		t.Errorf("host0 sends at %g of its link's %g bytes/s, want half", b.now, g.Capacity(l))
	}
}
