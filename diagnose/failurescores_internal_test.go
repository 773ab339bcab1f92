package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
)

// TestMovedLoad: a link's load before it failed explains load added to the full link beside it, but not load added
// elsewhere, at the port to a host for which a link waits that took the load over, or when a link came back.
func TestMovedLoad(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, nil, map[string]float64{"spine1>leaf3": 100, "spine1>leaf2": 100})
	lost := roottest.Link(t, g, "spine0>leaf3")
	p.Before = func(l schema.LinkID) float64 {
		if l == lost {
			return 60
		}
		return 20
	}
	s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, history.Clock{Duration: 60e9})}}
	s.read = &p.Readings
	s.history.Track(schema.BandwidthUsed)
	for _, c := range []struct {
		full, waits string // a link that waits for the full one
		kind        schema.EventKind
		want        float64
	}{
		{"spine1>leaf3", "leaf0>spine1", schema.LinkFailed, .75},
		{"leaf3>spine1", "leaf2>spine1", schema.LinkFailed, 0},
		{"leaf0>spine1", "spine1>leaf3", schema.LinkFailed, .75}, // to the same switch, over links upstream
		{"spine1>leaf3", "leaf0>spine1", schema.LinkRestored, 0},
		{"leaf3>host12", "spine1>leaf3", schema.LinkFailed, 0},
	} {
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: []schema.LinkID{roottest.Link(t, g, c.waits)}}, root: rootLoad{link: roottest.Link(t, g, c.full)}}
		capacity := g.Capacity(rc.root.link)
		rc.root.carries, rc.root.added = capacity, .8*capacity
		rc.back.Root = root.Port{Link: rc.root.link, Kind: schema.RootIncast}
		f := &history.PlacedFailure{Failure: schema.Failure{Kind: c.kind}, Links: []schema.LinkID{lost}}
		if got := rc.movedFrom(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s, %s: %.2f of the load moved, want %.2f", c.full, c.kind, got, c.want)
		}
	}
}

// TestMovedLoadFromAHopAway: on a tree of three levels, what went down a failed link comes over another switch of the
// pod, and fills the link into that; a link into another pod carries none of it. The same if the link into the pod
// fails.
func TestMovedLoadFromAHopAway(t *testing.T) {
	g := roottest.Graph(t, "fattree:k=4")
	for _, c := range []struct {
		lost, full string
		want       bool
	}{
		{"agg3-1>leaf3-0", "core0>agg3-0", true},
		{"agg3-1>leaf3-0", "core0>agg1-0", false},
		{"agg3-1>leaf3-0", "agg3-0>core0", false},
		{"agg3-1>leaf3-0", "core2>agg3-1", false},
		{"core0>agg3-0", "core2>agg3-1", true},
		{"core0>agg3-0", "core2>agg1-1", false},
	} {
		s := &Stage{interval: interval{graph: g, history: remembersAt(g, history.Clock{})}}
		rc := &regionCase{in: &s.interval, region: &schema.Region{}, root: rootLoad{link: roottest.Link(t, g, c.full)}}
		if got := rc.takesOver(roottest.Link(t, g, c.lost)); got != c.want {
			t.Errorf("%s takes over from %s: %v, want %v", c.full, c.lost, got, c.want)
		}
	}
}

// TestMovedLoadOfAnOlderRegion: in a region older than the failure, the full link shows the load added since, and the
// failure explains it as if both had begun together.
func TestMovedLoadOfAnOlderRegion(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	full, lost := roottest.Link(t, g, "spine1>leaf3"), roottest.Link(t, g, "spine0>leaf3")
	p, _ := readings(t, g, nil, map[string]float64{"spine1>leaf3": 100, "spine0>leaf3": 0})
	p.Before = func(schema.LinkID) float64 { return -1 }
	s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, history.Clock{Duration: 60e9, Now: 6})}}
	s.read = &p.Readings
	use := s.history.Track(schema.BandwidthUsed)
	for slot := range int64(5) {
		use.Row(slot)[full], use.Row(slot)[lost] = 40*history.LevelsPerPercent, 30*history.LevelsPerPercent
	}
	rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: []schema.LinkID{full}}, timeline: timeline{clock: s.history.Clock, onset: -1, burst: -1, old: true}, root: rootLoad{link: full, carries: g.Capacity(full)}}
	f := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Time: 5 * 60e9}, Links: []schema.LinkID{lost}}
	if got := rc.movedFrom(f); math.Abs(got-.5) > 1e-9 {
		t.Errorf("%.2f of the load moved, want half", got)
	}
	doubted, moved := rc.rateFailure(f, 0, 0)
	if moved != 0 {
		t.Errorf("%.2f of the load moved from what did not fail", moved)
	}
	explained, _ := rc.rateFailure(f, 0, 1)
	if explained-doubted < failureMoved/2 {
		t.Errorf("score %.1f, and %.1f where it is not sure that it failed", explained, doubted)
	}
	use.Row(3)[full], use.Row(4)[full] = 100*history.LevelsPerPercent, 100*history.LevelsPerPercent
	if other, _ := rc.rateFailure(f, 0, 1); explained-other < failureOnset/2 {
		t.Errorf("score %.1f, and %.1f where the full link carried all of it before the failure", explained, other)
	}
}

// TestMovedRoundARing: the load of a torus link that failed goes the other way round its ring, or over the links beside
// it, and explains as much added load there as it carried; not load added on other rings. Nothing moves from a failed
// node or from a link that still carries as much.
func TestMovedRoundARing(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	lost := roottest.Link(t, g, "0,0,0>0,0,1")
	for _, c := range []struct {
		name    string
		waits   string
		carried float64 // before, by the link that failed
		carries float64 // now
		kind    schema.EventKind
		want    float64
	}{
		{"all of it", "0,0,2>0,0,3", 60, 0, schema.LinkFailed, 1},
		{"the waiting link only leads to the ring", "0,3,2>0,0,2", 60, 0, schema.LinkFailed, 1},
		{"half of it", "0,0,2>0,0,3", 30, 0, schema.LinkFailed, .5},
		{"most was added elsewhere", "0,0,2>0,1,2", 15, 0, schema.LinkFailed, .25},
		{"in another order of dimensions", "0,1,1>0,2,1", 60, 0, schema.LinkFailed, 1},
		{"half of it, in another order", "0,1,1>0,2,1", 30, 0, schema.LinkFailed, .5},
		{"further along another ring", "0,1,2>0,1,3", 60, 0, schema.LinkFailed, 0},
		{"two dimensions away", "1,1,1>1,2,1", 60, 0, schema.LinkFailed, 0},
		{"it still carries as much", "0,0,2>0,0,3", 4, 4, schema.LinkFailed, 0},
		{"it came back", "0,0,2>0,0,3", 60, 0, schema.LinkRestored, 0},
		{"a node", "0,0,2>0,0,3", 60, 0, schema.NodeFailed, 0},
	} {
		p, region := readings(t, g, map[string]float64{c.waits: 30}, map[string]float64{"0,0,2>0,0,3": 80, "0,1,2>0,1,3": 80, "0,1,0>0,1,1": 80, "1,1,0>1,1,1": 80, "0,0,0>0,0,1": c.carries})
		p.Before = func(l schema.LinkID) float64 {
			switch {
			case l == lost:
				return c.carried
			case p.UseOf(l) == 80 && l == roottest.Link(t, g, "0,0,2>0,0,3") && c.waits == "0,0,2>0,1,2":
				return 50
			case p.UseOf(l) == 80:
				return 20
			}
			return 0
		}
		s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, history.Clock{Duration: 60e9})}}
		s.read = &p.Readings
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, root: rootLoad{link: region[0]}}
		f := &history.PlacedFailure{Failure: schema.Failure{Kind: c.kind}, Links: []schema.LinkID{lost}}
		if got := rc.movedFrom(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.2f of the load moved, want %.2f", c.name, got, c.want)
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
		score, _ := (&regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: links}, timeline: timeline{clock: s.history.Clock, onset: -1, burst: -1}, root: rootLoad{link: schema.NoLink}, back: back}).rateFailure(f, 1, 1)
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

func TestCoincidenceOfAFailure(t *testing.T) {
	for after, want := range map[int64]float64{-2: -.5, -1: 1, 0: 1, 2: 1, 3: .88, 9: .16, 10: .1, 100: .1} {
		if got := coincidenceOf(after); math.Abs(got-want) > 1e-9 {
			t.Errorf("a burst %d intervals after it: %v, want %v", after, got, want)
		}
	}
}

// TestFailsAgainAndAgain: a region that pauses while a part works waits for it since its first failure. A failure that
// does not come back is not that of a later burst.
func TestFailsAgainAndAgain(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	const minute = 60e9
	stall := []float64{0, 0, 0, 0, 0, 0, 40, 40, 0, 0, 0, 40, 40, 0, 0, 0, 40, 40}
	score := func(again ...int64) float64 {
		clock := history.Clock{Duration: minute, Now: int64(len(stall)) - 1}
		s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, clock)}}
		for _, at := range append([]int64{6}, again...) {
			f := history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: "leaf1", Port: "4",
				Time: schema.Instant(at * minute)}}
			f.Place(g)
			s.history.Failures = append(s.history.Failures, f)
		}
		s.lastFailed = map[history.Part]schema.Instant{}
		s.findLastFailed()
		burst := onsetOf(stall, shortPause)
		rc := &regionCase{in: &s.interval, region: &schema.Region{}, root: rootLoad{link: schema.NoLink},
			timeline: timeline{clock: clock, stall: stall, onset: burst, burst: burst}}
		score, _ := rc.rateFailure(&s.history.Failures[0], 0, 1)
		return score
	}
	once := score()
	if again := score(11, 16); again < once+failureOnset/2 {
		t.Errorf("the first failure of several scores %.1f, %.1f if it is the only one", again, once)
	}
	if before := score(11); before != once {
		t.Errorf("score %.1f, %.1f if it failed again, but not before the last burst", once, before)
	}
}

// TestNextToADeadSwitch: no link at a dead switch of a grid stalls, so that a region one hop from it is as near as can be;
// a failed link has switches that stall at its ends, and so have the switches of a tree.
func TestNextToADeadSwitch(t *testing.T) {
	const torus, tree = "torus:4x4", "fattree:leaves=2,hosts=2,spines=2"
	for name, c := range map[string]struct {
		net        string
		failed     schema.Failure
		hops, want int
	}{
		"beside it":          {torus, schema.Failure{Kind: schema.SwitchFailed}, 1, 0},
		"at it":              {torus, schema.Failure{Kind: schema.SwitchFailed}, 0, 0},
		"further away":       {torus, schema.Failure{Kind: schema.SwitchFailed}, 3, 2},
		"it came back":       {torus, schema.Failure{Kind: schema.SwitchRestored}, 1, 1},
		"a link of it":       {torus, schema.Failure{Kind: schema.LinkFailed, Port: "X+"}, 1, 1},
		"a node of it":       {torus, schema.Failure{Kind: schema.NodeFailed}, 1, 1},
		"a switch of a tree": {tree, schema.Failure{Kind: schema.SwitchFailed}, 1, 1},
	} {
		g := roottest.Graph(t, c.net)
		s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, history.Clock{})}}
		f := &history.PlacedFailure{Failure: c.failed}
		if got := (&regionCase{in: &s.interval}).hopsBeyond(f, c.hops); got != c.want {
			t.Errorf("%s: %d hops, want %d", name, got, c.want)
		}
	}
}
