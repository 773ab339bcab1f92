package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestFilesAreSeenOnTheirWay: the files that a job begins to write show on the links from its nodes to where the region's traffic
// ends; if they go elsewhere, the load of those links is unchanged. A job that adds less than the load added there cannot have
// caused it.
func TestFilesAreSeenOnTheirWay(t *testing.T) {
	const own = 1e9 // bytes/s that the job began to write, in equal parts from two nodes
	g := roottest.Graph(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	writes := []string{"2,0,2>3,0,2", "3,0,2>0,0,2", "0,0,1>0,0,2", "0,0,1>1,0,1"}
	reads := []string{"2,0,2>2,1,2"}
	others := roottest.Link(t, g, "0,0,2>0,0,3")
	for _, c := range []struct {
		name   string
		grown  []string
		others float64 // load added there by others, bytes/s
		seen   bool
	}{
		{"on all of its way", writes, 0, true},
		{"elsewhere", reads, 2 * own, false},
		{"nowhere", nil, 2 * own, false},
	} {
		p, region := readings(t, g, map[string]float64{"0,0,1>0,0,2": 30}, nil)
		for l := range schema.LinkID(g.NumLinks()) {
			p.Use.Values[l] = 20
			p.Use.Valid.Set(int(l))
		}
		for _, name := range c.grown {
			p.Use.Values[roottest.Link(t, g, name)] += float32(100 * own / 2 / g.Capacity(roottest.Link(t, g, name)))
		}
		p.Use.Values[others] += float32(100 * c.others / g.Capacity(others))
		p.Before = func(schema.LinkID) float64 { return 20 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.clock.duration = 60e9
		j := &job{Job: schema.Job{ID: "1", Nodes: []string{"2,0,2", "1,0,1"}}, traffic: &traffic{}}
		j.place(g)
		j.now = moves{interval: s.work.interval, all: own * 60, files: own * 60}
		j.was = moves{interval: s.work.interval}
		rc := &regionCase{region: &schema.Region{Links: region}, onset: 0, stall: []float64{30}, drain: root.Drain{Device: end, Fit: .9}, flooded: true, carries: 5 * own, full: schema.NoLink}
		j.was.slots = s.before(rc)
		suspect := &suspect{job: j, known: true, file: true, filesKnown: true, feature: write}
		seen, known := s.seenOnWay(rc, suspect, p)
		if !known || seen > .5 != c.seen {
			t.Errorf("%s: %.2f of what the job writes is seen (known: %v)", c.name, seen, known)
		}
		if against := s.unable(rc, suspect, p); against > 0 == c.seen {
			t.Errorf("%s: %.1f against the job", c.name, against)
		}
	}
}
