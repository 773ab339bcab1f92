package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestFilesCongestByWhatTheyAdd: where neither the region nor its end on a grid carries more than before, file traffic
// is not the cause, whatever it did at the onset.
func TestFilesCongestByWhatTheyAdd(t *testing.T) {
	file := suspect{file: true, known: true}
	for name, c := range map[string]struct {
		suspect       suspect
		load, arrives float64
		against       float64
	}{
		"less everywhere":     {file, .8, .6, jobTooLittle},
		"as much as before":   {file, 1, .6, jobTooLittle / 2},
		"more at the end":     {file, .8, 1.2, 0},
		"more in the region":  {file, 1.3, 0, 0},
		"no load is measured": {file, 0, 0, 0},
		"an exchange":         {suspect{known: true}, .8, .6, 0},
	} {
		rc := regionCase{load: times(c.load), ends: ends{arrives: times(c.arrives)}}
		if got := gridOf(&rc).addsNone(&c.suspect); math.Abs(got-c.against) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}

// TestWritersWaitWhereTheyCongest: a job that writes, none of whose hosts waits, has no place in a region of directed
// links, though its exchange may lead over the root.
func TestWritersWaitWhereTheyCongest(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for waits, want := range map[string]float64{"host0>leaf0": .9, "host2>leaf0": 0} {
		p, region := readings(t, g, map[string]float64{waits: 60}, nil)
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		writer := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}
		other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"host2", "host5"}}}}
		for _, j := range []*job{writer, other} {
			j.Place(g)
			s.settle(j)
		}
		rc := &regionCase{in: &s.interval, p: p, region: &schema.Region{Links: region}, waits: []float64{.6}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}}}
		c := suspect{job: writer, known: true, file: true, filesKnown: true, feature: history.Write, atRoot: true}
		if got := rc.spaceScore(&c); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s waits: a share of %.2f, want %.2f", waits, got, want)
		}
	}
}

// TestTrafficEndsAtHosts: at an incast at a switch, what a job sends ends at a host of it there or, if it writes, at a
// host of no job.
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
	for name, c := range map[string]struct {
		suspect suspect
		kind    string
		cannot  bool
	}{
		"a job there":        {suspect{job: here, filesKnown: true}, schema.RootIncast, false},
		"a job elsewhere":    {suspect{job: away, filesKnown: true}, schema.RootIncast, true},
		"it writes":          {suspect{job: away, filesKnown: true, file: true, feature: history.Write}, schema.RootIncast, false},
		"it reads":           {suspect{job: away, filesKnown: true, file: true}, schema.RootIncast, true},
		"files not measured": {suspect{job: away}, schema.RootIncast, false},
		"before a link":      {suspect{job: away, filesKnown: true}, schema.RootLinkCapacity, false},
	} {
		rc := &regionCase{in: &s.interval, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}, Switch: root.Switch{Device: leaf1, Kind: c.kind, Share: 1}}}
		if got := directedOf(rc).cannotEndAt(&c.suspect); got != c.cannot {
			t.Errorf("%s: it cannot end there: %v", name, got)
		}
	}
}

// TestLargeExchangesStandOut: the traffic of a large job is far above the median whatever it does; files that stand out
// are evidence.
func TestLargeExchangesStandOut(t *testing.T) {
	exchange := suspect{devs: 30}
	files := exchange
	files.file = true
	if got := exchange.timeScore(false); got != 0 {
		t.Errorf("an exchange: %.2f for it", got)
	}
	if got := files.timeScore(false); got <= 0 {
		t.Errorf("files: %.2f for it", got)
	}
}
