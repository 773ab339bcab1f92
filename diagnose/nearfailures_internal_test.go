package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAFailedLinkBesideARegion: of two links of a torus that failed beside a region, the one that the region's traffic
// leads to keeps its score. The other one loses what it had by its time, unless it is over and only counts for an
// unknown cause, or load readings show what it carried.
func TestAFailedLinkBesideARegion(t *testing.T) {
	for _, c := range []struct{ over, loads bool }{{}, {over: true}, {loads: true}} {
		u := newTiedUp(t)
		u.stage.measuresLoad = c.loads
		var senders []topology.DeviceID
		for _, name := range []string{"0,0,0", "0,0,1", "0,1,0", "0,1,1", "1,0,0", "1,1,0"} {
			senders = append(senders, u.Device(t, name))
		}
		to := u.Device(t, "3,2,2")
		slices.Sort(senders)
		links := u.Send(senders, to)
		slices.Sort(links)
		all := append(slices.Clone(senders), to)
		slices.Sort(all)
		j := &job{Job: &history.Job{Job: schema.Job{ID: "a"}, Devices: all}}
		rc := &regionCase{in: &u.stage.interval, pressure: u.p, creditPressure: u.p, region: &schema.Region{Links: links}}
		rc.senders = []root.Sender{{Devices: all, Routes: rc.in.routesOf(j)}}
		rc.onGrid = rc.in.finder.Region(u.p, links)
		for _, name := range []string{"4,4,4>4,4,5", "3,2,1>3,2,2"} {
			l := roottest.Link(t, u.Graph, name)
			f := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Port: name}, Links: []schema.LinkID{l}}
			rc.failures = append(rc.failures, nearFailure{PlacedFailure: f, score: 3 - float64(len(rc.failures)), over: c.over && len(rc.failures) == 0})
		}
		rc.rules().fitFailures(rc.failures)
		rc.sortFailures()
		first, second := rc.failures[0], rc.failures[1]
		if c.loads {
			first, second = second, first
		}
		if first.Port != "3,2,1>3,2,2" || first.score != 2 || first.share <= 0 {
			t.Errorf("%+v: first %s with score %v and share %v", c, first.Port, first.score, first.share)
		}
		want := 3.
		if !c.over && !c.loads {
			want -= leadsElsewhere
		}
		if second.share != 0 || second.score != want {
			t.Errorf("%+v: a link that nothing leads to has score %v and share %v, want %v and 0", c, second.score, second.share, want)
		}
	}
}

// TestOfLikelyFailuresTheOneWhereMostStalls: of links that failed together, as near as each other, the one at whose ends
// most of a region stalls is first, whichever failed last.
func TestOfLikelyFailuresTheOneWhereMostStalls(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60, "host4>leaf1": 20}, nil)
	p.Before = func(schema.LinkID) float64 { return -1 }
	s := &Stage{interval: interval{graph: g, router: routes.NewRouter(g), history: remembersAt(g, history.Clock{Duration: 60e9, Now: 9})}}
	s.read = &p.Readings
	rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: links}, root: rootLoad{link: schema.NoLink}, timeline: timeline{clock: s.history.Clock, onset: -1, burst: -1}}
	for _, l := range links {
		rc.weight = append(rc.weight, float64(p.StallOf(l)))
	}
	rc.in.reach = newReach(g, routes.NewRouter(g))
	rc.in.reach.from(links, 3)
	rc.in.beside = newLinksBeside(g)
	rc.in.beside.index(links)
	for i, name := range []string{"leaf0>spine0", "leaf1>spine1"} {
		l := g.Link(roottest.Link(t, g, name))
		f := history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: g.Device(l.From).Name, Port: l.FromPort, Time: schema.Instant(i)}}
		f.Place(g)
		rc.addNear(&f, nil)
	}
	rc.sortFailures()
	if first := rc.failures[0]; len(rc.failures) != 2 || first.score != rc.failures[1].score || first.Device != "leaf0" {
		t.Errorf("%d failures, first that of %s", len(rc.failures), first.Device)
	}
}

// TestAFailureBesideASlowHost: of two failed links of a tree, the one where stall ends keeps its score beside a host
// that takes too little, and neither counts for a link that lost rate at which nothing of it waits.
func TestAFailureBesideASlowHost(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=2,spines=2")
	p, links := readings(t, g, map[string]float64{"spine0>leaf0": 60}, map[string]float64{"leaf0>host0": 10})
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	region := &schema.Region{Metric: schema.CreditStall, Links: links}
	rc := &regionCase{in: &s.interval, pressure: p, region: region, back: s.finder.Follow(p, region, []float64{60}), root: rootLoad{link: schema.NoLink}}
	rc.back.Root.Kind = schema.RootSlowReceiver
	for _, name := range []string{"leaf0>spine1", "leaf2>spine1"} {
		rc.failures = append(rc.failures, nearFailure{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Port: name}, Links: []schema.LinkID{roottest.Link(t, g, name)}}, score: 3})
	}
	rc.rules().fitFailures(rc.failures)
	rc.sortFailures()
	if f := rc.failures; f[0].Port != "leaf0>spine1" || f[0].score != 3 || f[1].score != 3-waitsForHost {
		t.Errorf("%s has score %v, %s %v", f[0].Port, f[0].score, f[1].Port, f[1].score)
	}
	rc.back.Root.Slower = true
	if rc.passesBy() {
		t.Error("stall ends at the first failure")
	}
	if rc.failures = rc.failures[1:]; !rc.passesBy() {
		t.Error("nothing waits for the second failure")
	}
}

// TestAFailureThatStands: without load readings, a cable that is still down explains a region that ends at links for
// what it carried, however much later, unless the region stalled as much before or another failure agrees in time.
func TestAFailureThatStands(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=2,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	calm, always := make([]float64, 20), make([]float64, 20)
	calm[19], always[19], always[3] = 20, 20, 15
	const little = -2.
	for name, c := range map[string]struct {
		failed, at string
		kind       string
		stall      []float64
		restored   bool
		another    float64 // score of another failure
		want       float64
	}{
		"its traffic goes beside it":   {"leaf0>spine1", "spine0", schema.RootLinkCapacity, calm, false, little, failureStands},
		"over the other ports there":   {"leaf0>spine1", "leaf0", schema.RootLinkCapacity, calm, false, little, failureStands},
		"it passes another switch":     {"leaf0>spine1", "leaf1", schema.RootLinkCapacity, calm, false, little, little},
		"it has less to carry":         {"leaf0>spine1", "spine1", schema.RootLinkCapacity, calm, false, little, little},
		"to a host":                    {"host0>leaf0", "leaf0", schema.RootLinkCapacity, calm, false, little, little},
		"an incast":                    {"leaf0>spine1", "spine0", schema.RootIncast, calm, false, little, little},
		"the region stalled before it": {"leaf0>spine1", "spine0", schema.RootLinkCapacity, always, false, little, little},
		"it came back":                 {"leaf0>spine1", "spine0", schema.RootLinkCapacity, calm, true, little, little},
		"another agrees in time":       {"leaf0>spine1", "spine0", schema.RootLinkCapacity, calm, false, .5, little},
	} {
		up := roottest.Link(t, g, c.failed)
		from, to := g.Ends(up)
		back := roottest.Link(t, g, g.Device(to).Name+">"+g.Device(from).Name)
		at, _ := g.FindDevice(c.at)
		f := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Port: "1", Time: 5 * 60e9}, Links: []schema.LinkID{back, up}}
		rc := &regionCase{in: &s.interval, region: &schema.Region{}, timeline: timeline{clock: history.Clock{Duration: 60e9, Now: 19}, stall: c.stall, onset: 19},
			back:     root.BackPressure{Switch: root.Switch{Device: at, Kind: c.kind, Share: 1}},
			failures: []nearFailure{{PlacedFailure: &history.PlacedFailure{}, score: c.another}, {PlacedFailure: f, restored: c.restored, score: little}}}
		rc.rules().fitFailures(rc.failures)
		if got := rc.failures[1].score; got != c.want {
			t.Errorf("%s: score %v, want %v", name, got, c.want)
		}
	}
}

// TestAFailedCableLeavesLessRoomAtItsEnds: what is left of a failed cable, or its detour, begins at either end of it; in a tree
// at the lower one, or beside the upper one.
func TestAFailedCableLeavesLessRoomAtItsEnds(t *testing.T) {
	for _, c := range []struct {
		fabric, failed, here string
		want                 bool
	}{
		{"torus:4x4x4", "1,1,1>2,1,1", "1,1,1", true},
		{"torus:4x4x4", "1,1,1>2,1,1", "2,1,1", true},
		{"torus:4x4x4", "1,1,1>2,1,1", "3,1,1", false},
		{"fattree:leaves=4,hosts=2,spines=2", "leaf0>spine0", "spine0", false},
		{"fattree:leaves=4,hosts=2,spines=2", "leaf0>spine0", "spine1", true},
		{"fattree:leaves=4,hosts=2,spines=2", "leaf0>spine0", "leaf0", true},
		{"fattree:leaves=4,hosts=2,spines=2", "host0>leaf0", "leaf0", false},
	} {
		g := roottest.Graph(t, c.fabric)
		here, _ := g.FindDevice(c.here)
		rc := &regionCase{in: &interval{graph: g}}
		rc.back.Switch.Device = here
		f := &history.PlacedFailure{Links: []schema.LinkID{roottest.Link(t, g, c.failed)}}
		if got := (directed{rc}).replaces(f); got != c.want {
			t.Errorf("%s: %s replaces %s: %v, want %v", c.fabric, c.here, c.failed, got, c.want)
		}
	}
}
