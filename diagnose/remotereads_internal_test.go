package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestFetchesAreSeenOnTheirWay: what a job begins to fetch shows on the links from where the region's traffic ends to
// its nodes; if it comes from elsewhere, the load of those links is unchanged.
func TestFetchesAreSeenOnTheirWay(t *testing.T) {
	const own = 1e9 // bytes/s that the job began to fetch, in equal parts to two nodes
	g := roottest.Graph(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	for _, c := range []struct {
		name  string
		grown []string
		seen  bool
	}{
		{"on all of its way", []string{"0,0,2>1,0,2", "1,0,2>1,1,2", "0,0,2>0,1,2"}, true},
		{"nowhere", nil, false},
	} {
		p, region := readings(t, g, map[string]float64{"0,0,1>0,0,2": 30}, nil)
		for l := range schema.LinkID(g.NumLinks()) {
			p.Use.Values[l] = 20
			p.Use.Valid.Set(int(l))
		}
		for _, name := range c.grown {
			p.Use.Values[roottest.Link(t, g, name)] += float32(100 * own / 2 / g.Capacity(roottest.Link(t, g, name)))
		}
		p.Before = func(schema.LinkID) float64 { return 20 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration = 60e9
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"1,1,2", "0,1,2"}}, Traffic: &history.Traffic{}}}
		j.Place(g)
		j.recent = moves{known: true, volume: volume{all: own * 60}}
		j.baseline = moves{known: true}
		rc := &regionCase{in: &s.interval, p: p, region: &schema.Region{Links: region}, timeline: timeline{clock: s.history.Clock, onset: 0, stall: []float64{30}}, ends: ends{drain: root.Drain{Device: end, Fit: .9}}}
		j.baseline.slots = rc.timeline.baseline()
		if seen, known := rc.seenOnWay(&suspect{job: j, known: true, file: true, fetches: true, feature: history.RDMARead}); !known || seen > .5 != c.seen {
			t.Errorf("%s: %.2f of what the job fetches is seen (known: %v)", c.name, seen, known)
		}
	}
}
