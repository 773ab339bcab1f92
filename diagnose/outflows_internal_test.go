package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhatComesFromOutside: of what arrives at a host of a job, that comes from others which the job's hosts take in
// beyond what they send, as far as others send so much.
func TestWhatComesFromOutside(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for name, c := range map[string]struct {
		own, unlisted, other float64 // sent by a host of the job, of no job, and of another job, percent of a port
		want                 float64
	}{
		"its own node sends": {own: 80},
		"hosts of no job do": {unlisted: 80, want: 80},
		"a part of it":       {own: 50, unlisted: 30, want: 30},
		"another job":        {own: 20, other: 60, want: 60},
		"no job is seen to":  {own: 20},
	} {
		p, region := readings(t, g, nil, map[string]float64{"leaf1>host3": 80, "host0>leaf0": c.own, "host1>leaf0": c.unlisted, "host2>leaf0": c.other})
		p.Before = func(schema.LinkID) float64 { return 0 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read, s.measuresLoad, s.history.Clock.Duration = &p.Readings, true, 60e9
		for i, nodes := range [][]string{{"host0", "host3"}, {"host2", "host5"}} {
			j := &job{order: i, Job: &history.Job{Job: schema.Job{ID: nodes[0], Nodes: nodes}}}
			j.Place(g)
			s.settle(j)
			s.running = append(s.running, j)
		}
		port := roottest.Link(t, g, "leaf1>host3")
		added := .8 * g.Capacity(port)
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, root: rootLoad{link: port, carries: added, added: added},
			back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast}}, suspects: []suspect{{job: s.running[0], known: true}}}
		rc.rules().findSink()
		if got := directedOf(rc).fromOutside(1) / g.Capacity(port) * 100; got > c.want || got < .8*c.want {
			t.Errorf("%s: %v%% of a port comes from outside, want %v%%", name, got, c.want)
		}
	}
}
