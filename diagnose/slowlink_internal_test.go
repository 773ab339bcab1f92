package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestALinkThatLostRate: a job's exchange over one link waits before it, and it carries less than it did.
func TestALinkThatLostRate(t *testing.T) {
	u := newTiedUp(t)
	grid := u.Grid
	var nodes []topology.DeviceID
	for d := range topology.DeviceID(u.Graph.NumDevices()) {
		if c := u.Graph.Device(d).Coord; max(c[0], c[1], c[2]) < 5 {
			nodes = append(nodes, d)
		}
	}
	slow := roottest.Link(t, u.Graph, "2,2,2>2,2,3")
	tail := u.Device(t, "2,2,2")
	waits := map[schema.LinkID]bool{}
	for _, a := range nodes {
		for _, b := range nodes {
			var way []schema.LinkID
			grid.EachOnRoute(a, b, func(l schema.LinkID) {
				u.p.Use.Values[l] += .15
				u.Was[l] += .15
				way = append(way, l)
			})
			for i, l := range way {
				if l == slow && u.Graph.Device(a).Coord[2] <= 2 { // upwards
					for _, before := range way[:i] {
						waits[before] = true
					}
				}
			}
		}
	}
	var links []schema.LinkID
	for l := range schema.LinkID(u.Graph.NumLinks()) {
		if waits[l] {
			u.p.Stall.Values[l] = 50
			links = append(links, l)
		}
	}
	u.p.Use.Values[slow] /= 4
	rc := &regionCase{in: &u.stage.interval, pressure: u.p, creditPressure: u.p, region: &schema.Region{Metric: schema.CreditStall, Links: links}, suspects: []suspect{{job: &job{Job: &history.Job{Devices: nodes}}, cross: 1}}}
	rc.rules().findEnds()
	if n := rc.ends.bottleneck; n.Link != slow || n.Tail != tail || !n.Slower || math.Abs(n.Lost-.75) > .01 || !n.Before(&rc.ends.drain) {
		t.Errorf("bottleneck %+v, want link %d from device %d; drain %+v", n, slow, tail, rc.ends.drain)
	}
	rc.verdict.class = schema.CauseFailure
	if root := rc.rootPort(); root == nil || root.Device != "2,2,2" || root.Port != "Z+" || root.Kind != schema.RootLinkCapacity {
		t.Errorf("root %+v", root)
	}
	if rc.rateSlowLink() <= slowLinkFell {
		t.Errorf("score %v", rc.rateSlowLink())
	}
	rc.ends.bottleneck.Cannot = true
	for load, want := range map[float64]float64{0: slowLinkMeasured, .5: slowLinkMeasured, 8: slowLinkMeasured - mostRose} { // a broken part does not add load
		if rc.load = times(load); rc.rateSlowLink() != want {
			t.Errorf("of a region that carries %g times what it did, a link that shows that it is slow has the score %v, want %v", load, rc.rateSlowLink(), want)
		}
	}
}

// TestACableThatLostRateWithoutLoads: stall alone shows it, and a failure that nothing waits for is not blamed instead.
func TestACableThatLostRateWithoutLoads(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"leaf0>spine0": 50, "leaf1>spine0": 60, "host12>leaf3": 40}, nil)
	p.Use, p.Rate = nil, nil
	s := &Stage{interval: interval{graph: g, history: remembersAt(g, history.Clock{Duration: 60e9})}}
	region := &schema.Region{Metric: schema.CreditStall, Links: links[:2]}
	rc := &regionCase{in: &s.interval, region: region, pressure: p, root: rootLoad{link: schema.NoLink}, back: root.NewFinder(g, nil).Follow(p, region, []float64{50, 60})}
	if got := rc.rateSlowLink(); got != slowLinkAlone {
		t.Errorf("score %g, want %g", got, slowLinkAlone)
	}
	rc.verdict.class = schema.CauseFailure
	want := schema.Root{Device: "spine0", Port: "4", Peer: "leaf3", Kind: schema.RootLinkCapacity, Link: roottest.Link(t, g, "spine0>leaf3")}
	if root := rc.rootPort(); root == nil || *root != want {
		t.Errorf("root %+v, want %+v", root, want)
	}
	rc.failures = []nearFailure{{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed}, Links: []schema.LinkID{roottest.Link(t, g, "leaf2>spine1")}}}}
	if !rc.passesBy() {
		t.Error("a cable elsewhere holds it up")
	}
}

// TestScoreOfASlowPort: a port that cannot carry more is stronger evidence of a slow host than one that carries less,
// and a failure near it weakens either.
func TestScoreOfASlowPort(t *testing.T) {
	s := &Stage{interval: interval{graph: roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2"), history: remembersAt(roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2"), history.Clock{})}}
	rc := &regionCase{in: &s.interval, region: &schema.Region{Metric: schema.CreditStall}, back: root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver, Slower: true}}}
	for cannot, want := range map[bool]float64{true: slowLinkMeasured, false: slowLinkFell} {
		rc.back.Root.Cannot = cannot
		if rc.failures = nil; rc.rules().slowHostScore() != want {
			t.Errorf("score %g, want %g", rc.rules().slowHostScore(), want)
		}
		if rc.failures = []nearFailure{{score: 1}}; rc.rules().slowHostScore() != want-slowHostFailure {
			t.Errorf("score beside a failure %g, want %g", rc.rules().slowHostScore(), want-slowHostFailure)
		}
	}
}

// TestLessThanBeforeIsSinceAnOnset: without a known onset, that a port of directed links carries less than it once did
// says nothing; that it cannot carry more does.
func TestLessThanBeforeIsSinceAnOnset(t *testing.T) {
	s := &Stage{interval: interval{graph: roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2"), history: remembersAt(roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2"), history.Clock{})}}
	for _, c := range []struct {
		onset  int
		cannot bool
		want   float64
	}{{3, false, slowLinkFell}, {-1, false, math.Inf(-1)}, {-1, true, slowLinkMeasured}} {
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, onset: c.onset}, back: root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Slower: true, Cannot: c.cannot}}}
		if got := rc.rateSlowLink(); got != c.want {
			t.Errorf("onset %d, it cannot carry more %v: %g, want %g", c.onset, c.cannot, got, c.want)
		}
	}
}

// TestALinkThatCarriesLessUnderMoreLoad: if a region carries clearly more than before, a port that carries less than
// before is less likely what it waits for: a link that lost rate does not add load.
func TestALinkThatCarriesLessUnderMoreLoad(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	s := &Stage{interval: interval{graph: g, history: remembersAt(g, history.Clock{})}}
	rc := &regionCase{in: &s.interval, region: &schema.Region{}, back: root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Slower: true}}}
	for load, want := range map[float64]float64{0: slowLinkFell, .8: slowLinkFell, 4 * risen: slowLinkFell - 2*loadRose} {
		if rc.load = times(load); math.Abs(rc.rateSlowLink()-want) > 1e-9 {
			t.Errorf("of a region that carries %g times what it did: score %v, want %v", load, rc.rateSlowLink(), want)
		}
	}
}
