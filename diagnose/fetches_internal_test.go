package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhatAJobFetchesMayFillItsPort: a job that takes in much more than it sends, by the links of all its hosts, may have filled the
// port to one of them, though they send too little for that.
func TestWhatAJobFetchesMayFillItsPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf0>host0")
	snap, _ := roottest.Snapshot(t, g, nil, map[string]float64{"leaf0>host0": 100, "host0>leaf0": 2, "host1>leaf0": 2})
	snap.Interval.DurationNanos = 60e9
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.tick(snap.Interval)
	s.jobs.upsert(g, schema.Job{ID: "1", Nodes: []string{"host0", "host1"}, Start: 1})
	s.deriveTraffic(snap)
	j := s.jobs.byID["1"][0]
	j.now = moves{interval: s.work.interval, all: g.Capacity(port) * 60}
	rc := &regionCase{fullest: port, carries: g.Capacity(port), onset: -1, back: root.BackPressure{Link: port, Kind: schema.RootIncast}}
	p := s.work.finder.On(snap)
	p.Before = func(schema.LinkID) float64 { return 0 }
	if against := s.unable(rc, &suspect{job: j, known: true, filesKnown: true}, p); against > 0 {
		t.Errorf("%.1f against the job", against)
	}
}
