package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
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
		j.recent = cachedVolume{known: true, volume: volume{all: own * 60}}
		j.baseline = cachedVolume{known: true}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, timeline: timeline{clock: s.history.Clock, onset: 0, stall: []float64{30}}, ends: ends{drain: root.Drain{Device: end, Fit: .9}}}
		j.baseline.slots = rc.timeline.baseline()
		if seen, known := rc.seenOnWay(&suspect{job: j, known: true, file: true, fetches: true, feature: history.RDMARead}); !known || seen > .5 != c.seen {
			t.Errorf("%s: %.2f of what the job fetches is seen (known: %v)", c.name, seen, known)
		}
	}
}

// TestReadsCountedAsRDMAReads: on any fabric a job's RDMA reads are file traffic if they follow the stall and doubled
// with it while its own exchange is elsewhere.
func TestReadsCountedAsRDMAReads(t *testing.T) {
	for _, fabric := range []string{"torus:4x4x4", "fattree:leaves=2,hosts=3,spines=1"} {
		s, err := New(roottest.Graph(t, fabric), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock.Duration = 60e9
		for name, c := range map[string]struct {
			before, cross, correlation float64
			started, want              bool
		}{
			"they began with it":      {0, 0, .9, false, true},
			"it read as much before":  {.7, 0, .9, false, false},
			"in its own exchange":     {0, .6, .9, false, false},
			"they do not follow it":   {0, 0, .3, false, false},
			"the job itself is young": {0, 0, .9, true, false},
		} {
			j := &job{Job: &history.Job{Traffic: &history.Traffic{}}}
			rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, onset: 0, stall: []float64{30}}}
			j.recent = cachedVolume{known: true, volume: volume{all: 1}}
			j.baseline = cachedVolume{known: true, volume: volume{all: c.before}, slots: rc.timeline.baseline()}
			reads := suspect{job: j, feature: history.RDMARead, cross: c.cross, evidence: evidence{started: c.started, Result: correlation.Result{Correlation: c.correlation, P: .01}}}
			if got := rc.fetches(&reads); got != c.want {
				t.Errorf("%s, %s: %v", fabric, name, got)
			}
		}
	}
}
