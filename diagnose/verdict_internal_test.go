package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestALinkThatFailedAndLostRate: a failure that a log reports and a link that carries less than before are of one
// class, and neither makes the other unlikely.
func TestALinkThatFailedAndLostRate(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	link := roottest.Link(t, g, "leaf0>spine1")
	p, _ := readings(t, g, map[string]float64{"leaf0>spine1": 40}, map[string]float64{"leaf0>spine1": 40})
	for name, c := range map[string]struct {
		failed float64 // score of the failure
		slower bool
		least  float64 // confidence
	}{
		"failed":           {slowLinkFell, false, .9},
		"lost rate":        {-9, true, .9},
		"both":             {slowLinkFell, true, .95},
		"hardly of either": {-9, false, 0},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock = history.Clock{Duration: 60e9, Now: 9}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{ID: 1, Links: []schema.LinkID{link}}, weight: []float64{40}, totalWeight: 40, failures: []nearFailure{{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Kind: schema.SwitchFailed, Device: "spine0"}}, score: c.failed}}, timeline: timeline{clock: s.history.Clock, onset: 5, burst: 5}, back: root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Link: link, Slower: c.slower}}}
		want := schema.CauseFailure
		if c.least == 0 {
			want = schema.CauseUnknown
		}
		rc.rate()
		if got := rc.decide(); got.class != want || got.confidence < c.least {
			t.Errorf("%s: %s with %.2f, want %s with %.2f at least", name, got.class, got.confidence, want, c.least)
		}
	}
}

// TestUnknownWithoutLoads: on a grid without load readings more causes look like an unknown one, so that one is less
// certain.
func TestUnknownWithoutLoads(t *testing.T) {
	confidence := func(fabric string, loads bool) float64 {
		s, err := New(roottest.Graph(t, fabric), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		p, _ := readings(t, s.graph, nil, nil)
		s.read = &p.Readings
		s.measuresLoad = loads
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{ID: 1, Links: []schema.LinkID{0}}, timeline: timeline{onset: -1}, failures: []nearFailure{{PlacedFailure: &history.PlacedFailure{}, score: -3}}}
		rc.rate()
		v := rc.decide()
		if v.class != schema.CauseUnknown {
			t.Fatalf("%s: %s", fabric, v.class)
		}
		return v.confidence
	}
	if with, without := confidence("torus:4x4x4", true), confidence("torus:4x4x4", false); with < .6 || without > .5 {
		t.Errorf("torus: %.2f with load readings and %.2f without, want .6 at least and .5 at most", with, without)
	}
	const tree = "fattree:leaves=4,hosts=4,spines=2"
	if with, without := confidence(tree, true), confidence(tree, false); with != without {
		t.Errorf("tree: %.2f with load readings and %.2f without, want the same", with, without)
	}
}

// TestASlowPortDoesNotHideAFailure: a failure beside a region is blamed unless a link that lost rate is likely, too:
// that of a port that is slow without that stays the likelier cause.
func TestASlowPortDoesNotHideAFailure(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	link := roottest.Link(t, g, "leaf0>spine1")
	p, _ := readings(t, g, map[string]float64{"leaf0>spine1": 40}, map[string]float64{"leaf0>spine1": 40})
	for name, c := range map[string]struct {
		onset  int
		blamed int // failures
	}{
		"the link lost rate since the onset": {5, 0},
		"since when it is slow is not known": {noOnset, 1},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock = history.Clock{Duration: 60e9, Now: 9}
		failed := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.SwitchFailed, Device: "leaf3"}}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{ID: 1, Links: []schema.LinkID{link}}, weight: []float64{40},
			totalWeight: 40, failures: []nearFailure{{PlacedFailure: failed, score: slowLinkFell + 1}},
			timeline: timeline{clock: s.history.Clock, onset: c.onset, burst: c.onset},
			root:     rootLoad{link: schema.NoLink},
			back:     root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Link: link, Slower: true}}}
		rc.rate()
		v := rc.decide()
		if v.class != schema.CauseFailure || v.blamed != c.blamed {
			t.Errorf("%s: %s, %d failures", name, v.class, v.blamed)
		}
	}
}
