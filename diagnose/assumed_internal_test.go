package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestAJobIsComparedWithTheCapacity: without load readings a job that moves a small part of what the congested links
// can carry is not able to congest them, however well it correlates.
func TestAJobIsComparedWithTheCapacity(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock.Duration = 60e9
	p, links := readings(t, g, map[string]float64{"host0>leaf0": 40}, nil)
	s.read = &p.Readings
	rc := &regionCase{in: &s.interval, p: p, region: &schema.Region{Links: links}, weight: make([]float64, len(links)), timeline: timeline{clock: s.history.Clock, onset: -1}, root: rootLoad{link: schema.NoLink}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}}}
	rc.root.carries = rc.assumedLoad()
	for share, want := range map[float64]float64{0: jobTooLittle, assumedUse * culpritShare / 2: jobTooLittle, .3: 0} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0"}}, Traffic: &history.Traffic{}}, recent: moves{known: true, volume: volume{all: share * g.Capacity(links[0]) * 60}}}
		j.Place(g)
		if got := rc.tooLittlePenalty(&suspect{job: j, known: true}); math.Abs(got-want) > 1e-6 {
			t.Errorf("%.1f against a job that moves %g of the capacity, want %.1f", got, share, want)
		}
	}
}

// TestAnIncastIsNoFailure: more than a host's port can deliver is load, whichever cable failed elsewhere, also if it is
// only known at which switch the port is.
func TestAnIncastIsNoFailure(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock.Duration = 60e9
	p, links := readings(t, g, map[string]float64{"spine0>leaf0": 40}, nil)
	s.read = &p.Readings
	leaf, _ := g.FindDevice("leaf0")
	f := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: "leaf1", Port: "4"}}
	f.Place(g)
	score := func(back root.BackPressure) float64 {
		score, _ := (&regionCase{in: &s.interval, p: p, region: &schema.Region{Links: links}, timeline: timeline{clock: s.history.Clock, onset: -1, burst: -1}, root: rootLoad{link: schema.NoLink}, back: back}).rateFailure(f, 1, 1)
		return score
	}
	other := score(root.BackPressure{Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf, Kind: schema.RootLinkCapacity, Share: 1}})
	for name, back := range map[string]root.BackPressure{
		"the port":   {Root: root.Port{Link: roottest.Link(t, g, "leaf0>host0"), Kind: schema.RootIncast}},
		"the switch": {Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf, Kind: schema.RootIncast, Share: 1}},
	} {
		if got := score(back); got != other-incastLoad {
			t.Errorf("%s is known: a failure scores %.1f, %.1f elsewhere", name, got, other)
		}
	}
}
