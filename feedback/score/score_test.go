package score_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "ib0", spec)
}

// of returns the scores by host; a device that is none fails the test.
func of(t interface{ Errorf(string, ...any) }, g *topology.Graph, r *schema.IntervalResult) map[string]score.Node {
	r.Snapshot = &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version(), Interval: schema.Interval{StartNanos: 60e9, DurationNanos: 60e9}}
	nodes := map[string]score.Node{}
	for _, n := range score.Of(g, r, score.DefaultConfig()).Nodes {
		if d, ok := g.FindDevice(n.Node); !ok || !slices.Contains(g.Hosts(), d) {
			t.Errorf("%s is no host", n.Node)
		}
		nodes[n.Node] = n
	}
	return nodes
}

// linksOf lists the links of a device that satisfy keep.
func linksOf(t testing.TB, g *topology.Graph, device string, keep func(from, to topology.DeviceID) bool) (links []schema.LinkID) {
	t.Helper()
	d, ok := g.FindDevice(device)
	if !ok {
		t.Fatalf("no device %s", device)
	}
	for _, l := range g.LinksAt(d) {
		if keep(g.Ends(l)) {
			links = append(links, l)
		}
	}
	return links
}

// leafOf returns the switch of a host.
func leafOf(g *topology.Graph, host string) topology.DeviceID {
	d, _ := g.FindDevice(host)
	from, to := g.Ends(g.LinksAt(d)[0])
	if from == d {
		return to
	}
	return from
}

func TestRelations(t *testing.T) {
	g := parse(t, "fattree:k=4")
	all := func(topology.DeviceID, topology.DeviceID) bool { return true }
	leaf := leafOf(g, "host0")
	uplinks := linksOf(t, g, g.Device(leaf).Name, func(from, to topology.DeviceID) bool { return g.IsSwitch(from) && g.IsSwitch(to) })
	own := schema.Region{ID: 1, Severity: schema.High, Mean: 50, Links: linksOf(t, g, "host0", all)}
	nodes := of(t, g, &schema.IntervalResult{Regions: []schema.Region{own}})
	if n := nodes["host0"]; n.Score != 100 || n.Relation != score.Own || len(nodes) != 1 {
		t.Errorf("own links: %+v of %d nodes", n, len(nodes))
	}
	up := schema.Region{ID: 2, Severity: schema.High, Mean: 50, Links: uplinks}
	nodes = of(t, g, &schema.IntervalResult{Regions: []schema.Region{up}})
	if n := nodes["host0"]; n.Score != 70 || n.Relation != score.OnLeaf || !strings.Contains(n.Reason, g.Device(leaf).Name) {
		t.Errorf("on the leaf: %+v", n)
	}
	if n := nodes["host2"]; n.Relation != score.Nearby || n.Score != 17.5 {
		t.Errorf("one switch further: %+v", n)
	}
	if n, ok := nodes["host15"]; ok {
		t.Errorf("in another pod: %+v", n)
	}
	if n := of(t, g, &schema.IntervalResult{Regions: []schema.Region{own, up}})["host0"]; n.Score != 100 || n.Regions != 2 || n.Region != 1 {
		t.Errorf("both: %+v", n)
	}
	slow := &schema.IntervalResult{Regions: []schema.Region{{ID: 3, Severity: schema.Low, Mean: 6, Links: uplinks}},
		Diagnoses: []schema.Diagnosis{{Region: 3, Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: 0.9}, Root: &schema.Root{Link: schema.NoLink, Device: g.Device(leaf).Name, Peer: "host1", Kind: "slow_receiver"}}}}
	if n := of(t, g, slow)["host1"]; n.Score != 90 || n.Relation != score.Accused {
		t.Errorf("a host that pauses the network: %+v", n)
	}
	slow.Diagnoses[0].Cause.Class = schema.CauseSystem
	if n := of(t, g, slow)["host1"]; n.Relation != score.AtRoot || n.Score != 33 {
		t.Errorf("at the root: %+v", n)
	}
	root := slow.Diagnoses[0].Root
	for kind, want := range map[string]string{"incast": "back pressure begins at " + root.Device + " port 2, which leads to this host: ",
		"link_down": "back pressure begins at a link that is down, " + root.Device + " port 2, which leads to this host: "} {
		root.Port, root.Kind = "2", kind
		if n := of(t, g, slow)["host1"]; !strings.HasPrefix(n.Reason, want) {
			t.Errorf("root of kind %s: %q, want %q", kind, n.Reason, want)
		}
	}
	if nodes := of(t, g, &schema.IntervalResult{Regions: []schema.Region{{ID: 4, Severity: schema.Negligible, Mean: 4, Links: uplinks}}}); len(nodes) > 0 {
		t.Errorf("a negligible region: %v", nodes)
	}
}

// On a torus jobs are placed on devices that are also switches.
func TestTorus(t *testing.T) {
	g := parse(t, "torus:6x6")
	links := linksOf(t, g, g.Device(0).Name, func(topology.DeviceID, topology.DeviceID) bool { return true })
	nodes := of(t, g, &schema.IntervalResult{Regions: []schema.Region{{ID: 1, Severity: schema.High, Mean: 50, Links: links}}})
	if n := nodes[g.Device(0).Name]; n.Score != 100 || n.Relation != score.Own {
		t.Errorf("in the middle: %+v", n)
	}
	own, near := 0, 0
	for _, n := range nodes {
		switch n.Relation {
		case score.Own:
			own++
		case score.Nearby:
			near++
		}
	}
	if own != 5 || near != 8 {
		t.Errorf("%d in the region, %d beside it; want 5 and 8", own, near)
	}
	at := schema.Diagnosis{Region: 1, Cause: schema.Cause{Class: schema.CauseUnknown}, Root: &schema.Root{Device: "3,3", Link: schema.NoLink}}
	for kind, want := range map[string]bool{"": false, schema.RootIncast: true} { // without a kind it is a guess
		at.Root.Kind = kind
		r := &schema.IntervalResult{Regions: []schema.Region{{ID: 1, Severity: schema.High, Mean: 50, Links: links}}, Diagnoses: []schema.Diagnosis{at}}
		if n, marked := of(t, g, r)["3,3"]; marked != want {
			t.Errorf("a root of kind %q away from the region: %+v", kind, n)
		}
	}
}

// The forecast counts, not only the current state.
func TestExpected(t *testing.T) {
	now := schema.Region{Severity: schema.Medium, Mean: 15}
	if got := score.Expected(&now); got != 60 {
		t.Errorf("without a forecast %g", got)
	}
	odds := func(s schema.RegionState) (o schema.Odds) { o[s] = 1; return o }
	for want, f := range map[float64]schema.Forecast{
		0:    {Next: odds(schema.Gone), Later: odds(schema.Gone)},
		30:   {Next: odds(schema.RegionState(schema.Medium)), Later: odds(schema.Gone)},
		60:   {Next: odds(schema.RegionState(schema.Medium)), Later: odds(schema.RegionState(schema.Medium))},
		74:   {Next: odds(schema.RegionState(schema.Medium)), Later: odds(schema.RegionState(schema.High))},
		52.5: {Next: odds(schema.RegionState(schema.Low)), Later: odds(schema.RegionState(schema.Medium))},
	} {
		now.Forecast = &f
		if got := score.Expected(&now); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%v: %g, want %g", f, got, want)
		}
	}
}

// Scores are between 0 and 100, do not decrease when a region's stall increases, and do
// not depend on the order of regions.
func TestProperties(t *testing.T) {
	g := parse(t, "fattree:k=4")
	rapid.Check(t, func(t *rapid.T) {
		var regions, worse []schema.Region
		for i := range rapid.IntRange(1, 4).Draw(t, "regions") {
			mean := rapid.Float64Range(5, 60).Draw(t, "mean")
			r := schema.Region{ID: uint64(i + 1), Severity: schema.SeverityOf(mean), Mean: mean}
			for range rapid.IntRange(1, 6).Draw(t, "links") {
				r.Links = append(r.Links, schema.LinkID(rapid.IntRange(0, g.NumLinks()-1).Draw(t, "link")))
			}
			regions = append([]schema.Region{r}, regions...)
			r.Mean += rapid.Float64Range(0, 40).Draw(t, "more")
			r.Severity = schema.SeverityOf(r.Mean)
			worse = append(worse, r)
		}
		before, after := of(t, g, &schema.IntervalResult{Regions: regions}), of(t, g, &schema.IntervalResult{Regions: worse})
		if len(before) == 0 || len(before) != len(after) {
			t.Fatalf("%d and %d nodes", len(before), len(after))
		}
		for name, n := range before {
			if n.Score < 0 || n.Score > 100 || after[name].Score < n.Score || n.Reason == "" {
				t.Fatalf("%+v, with more stall %+v", n, after[name])
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	g := parse(b, "torus:24x24x24")
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version()}}
	for i := range 100 {
		region := schema.Region{ID: uint64(i + 1), Severity: schema.High, Mean: 30}
		for l := range 60 {
			region.Links = append(region.Links, schema.LinkID(i*400+l))
		}
		r.Regions = append(r.Regions, region)
	}
	for b.Loop() {
		score.Of(g, r, score.DefaultConfig())
	}
}

// TestReasonsAreSentences: reasons are grammatical with one link and one switch, and no forecast is certain.
func TestReasonsAreSentences(t *testing.T) {
	g := parse(t, "fattree:k=4")
	out := linksOf(t, g, "host0", func(from, _ topology.DeviceID) bool { return !g.IsSwitch(from) })
	region := schema.Region{ID: 1, Severity: schema.High, Mean: 50, Links: out, Forecast: &schema.Forecast{Later: schema.Odds{schema.High: 1}}}
	reason := of(t, g, &schema.IntervalResult{Regions: []schema.Region{region}})["host0"].Reason
	for _, want := range []string{"1 of its 2 links is congested: ", ", >99% likely Medium or worse in 5 intervals"} {
		if !strings.Contains(reason, want) {
			t.Errorf("no %q in %q", want, reason)
		}
	}
	leaf := leafOf(g, "host0")
	uplinks := linksOf(t, g, g.Device(leaf).Name, func(from, to topology.DeviceID) bool { return g.IsSwitch(from) && g.IsSwitch(to) })
	near := of(t, g, &schema.IntervalResult{Regions: []schema.Region{{ID: 2, Severity: schema.High, Mean: 50, Links: uplinks}}})["host2"]
	if !strings.HasPrefix(near.Reason, "1 switch from ") {
		t.Errorf("one switch further: %q", near.Reason)
	}
}
