package diagnose

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestScoresDoNotWriteTheCase: the score of a cause does not depend on which others were rated before it.
func TestScoresDoNotWriteTheCase(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	p, links := readings(t, g, map[string]float64{"host1>leaf0": 50}, map[string]float64{"leaf0>host0": 100})
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read, s.measuresLoad, s.history.Clock.Duration = &p.Readings, true, 60e9
	port := roottest.Link(t, g, "leaf0>host0")
	onTree := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: links}, weight: []float64{50}, totalWeight: 50,
		waits: []float64{.5}, timeline: timeline{clock: s.history.Clock, onset: noOnset, burst: noOnset},
		back: root.BackPressure{Root: root.Port{Kind: schema.RootIncast, Link: port}}, root: rootLoad{link: port, carries: 1e9}}
	for _, host := range []string{"host1", "host4"} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}, Traffic: history.NewTraffic(20, 0)}}
		j.Place(g)
		onTree.suspects = append(onTree.suspects, suspect{job: j, known: true, cross: .8})
	}
	for name, rc := range map[string]*regionCase{"grid": incastTo(t, "2,3,4", sendingNodes, otherNodes), "directed": onTree} {
		before := *rc
		before.suspects, before.failures = slices.Clone(rc.suspects), slices.Clone(rc.failures)
		before.addedByLink, before.waits, before.weight = slices.Clone(rc.addedByLink), slices.Clone(rc.waits), slices.Clone(rc.weight)
		for i := range rc.suspects {
			rc.rateJob(&rc.suspects[i])
		}
		rc.rateSlowHost()
		rc.rateSlowLink()
		rc.rules().unlistedPart(1)
		if !reflect.DeepEqual(*rc, before) {
			t.Errorf("%s: the case was\n%+v\nand is\n%+v", name, before, *rc)
		}
	}
}

// A job that began in a stalled region succeeds a job that began with the region, if it runs on that job's nodes and
// began after its end.
func TestSuccessor(t *testing.T) {
	const minute = 60_000_000_000
	for name, c := range map[string]struct {
		began, ended, start float64 // minutes: of the earlier job, and of the later one
		node                int
		want                bool
	}{
		"on the same nodes":              {10, 20, 21, 1, true},
		"on other nodes":                 {10, 20, 21, 5, false},
		"of a job that still runs":       {10, 0, 21, 1, false},
		"before that ended":              {10, 25, 21, 1, false},
		"of a job from before the onset": {2, 20, 21, 1, false},
		"with the region":                {2, 9, 10, 1, false},
	} {
		g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
		s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(g, history.Clock{Duration: minute, Now: 29})}}
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, onset: 10, burst: 10}}
		for i := range 30 {
			stall := 0.
			if i >= rc.timeline.onset {
				stall = 50
			}
			rc.timeline.stall = append(rc.timeline.stall, stall)
		}
		at := func(minutes float64) schema.Instant { return schema.Instant(math.Round(minutes * minute)) }
		nodes := func(first int) []string { return []string{fmt.Sprint("host", first), fmt.Sprint("host", first+1)} }
		s.history.AddJobs([]schema.Job{{ID: "was", Start: at(c.began), End: at(c.ended), Nodes: nodes(1)}, {ID: "now", Start: at(c.start), Nodes: nodes(c.node)}})
		j := &job{Job: s.history.Jobs()[0]}
		if got := rc.succeeds(j); got != c.want {
			t.Errorf("%s: %v", name, got)
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
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, waits: []float64{.6}, back: root.BackPressure{Root: root.Port{Link: schema.NoLink}}}
		c := suspect{job: writer, known: true, file: true, filesKnown: true, feature: history.Write, atRoot: true}
		if got := rc.spaceScore(&c); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s waits: a share of %.2f, want %.2f", waits, got, want)
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
