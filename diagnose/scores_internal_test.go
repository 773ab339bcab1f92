package diagnose

import (
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
	s.p, s.measuresLoad, s.history.Clock.Duration = p, true, 60e9
	port := roottest.Link(t, g, "leaf0>host0")
	onTree := &regionCase{in: &s.interval, region: &schema.Region{Links: links}, weight: []float64{50}, totalWeight: 50,
		waits: []float64{.5}, timeline: timeline{clock: s.history.Clock, onset: noOnset, burst: noOnset},
		back: root.BackPressure{Kind: schema.RootIncast, Link: port}, root: rootLoad{link: port, carries: 1e9}}
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
			rc.scores().rate(&rc.suspects[i])
		}
		rc.scores().slowHostScore()
		rc.scores().slowLinkScore()
		rc.ground().unlistedPart(1)
		if !reflect.DeepEqual(*rc, before) {
			t.Errorf("%s: the case was\n%+v\nand is\n%+v", name, before, *rc)
		}
	}
}
