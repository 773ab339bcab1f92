package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const second = int64(1e9)

func newGraph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "f", spec)
}

func newCore(t rapid.TB, g *topology.Graph) *analysis.Core {
	t.Helper()
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness = time.Second, time.Second/2
	cfg.Segment.Method, cfg.Segment.MinLinks = segment.Paper, 3
	core, err := analysis.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// fabric makes polls of all ports; the counters keep counting from one poll to the next.
type fabric struct {
	graph    *topology.Graph
	stalled  []uint64 // by link, nanoseconds
	sequence uint64
}

// poll reads every port at an instant, a second after the poll before; percent is how
// long each link stalled in that second. The third column is a counter that no table
// knows; its value is the row's number.
func (f *fabric) poll(nanos int64, percent func(schema.LinkID) uint64) *schema.CounterBatch {
	if f.stalled == nil {
		f.stalled = make([]uint64, f.graph.NumLinks())
	}
	f.sequence++
	b := &schema.CounterBatch{Fabric: "f", Source: "test", Agent: "a", Sequence: f.sequence, IntervalNanos: second,
		Columns: []schema.CounterColumn{{Name: "gemini.credit_stall_ns"}, {Name: "gemini.traffic_bytes"}, {Name: "vendor.mystery"}}}
	for id := range schema.LinkID(f.graph.NumLinks()) {
		f.stalled[id] += percent(id) * uint64(second) / 100
		l := f.graph.Link(id)
		for _, port := range []schema.PortName{{Device: f.graph.Device(l.From).Name, Port: l.FromPort}, {Device: f.graph.Device(l.To).Name, Port: l.ToPort}} {
			b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
			b.Ports = append(b.Ports, port)
			b.TimeNanos = append(b.TimeNanos, nanos)
			for c, v := range []uint64{f.stalled[id], uint64(nanos), uint64(b.Rows() - 1)} {
				b.Columns[c].Values = append(b.Columns[c].Values, v)
			}
		}
	}
	return b
}

func calm(schema.LinkID) uint64 { return 0 }

// hotQuarter stalls the first quarter of the links.
func hotQuarter(g *topology.Graph) func(schema.LinkID) uint64 {
	return func(l schema.LinkID) uint64 {
		if int(l) < g.NumLinks()/4 {
			return 40
		}
		return 0
	}
}

func add(t testing.TB, core *analysis.Core, batches ...*schema.CounterBatch) {
	t.Helper()
	for _, b := range batches {
		if err := core.Add(b); err != nil {
			t.Fatal(err)
		}
	}
}

// results closes the intervals that ended by an instant and returns their results.
func results(core *analysis.Core, untilNanos int64) (all []*schema.IntervalResult) {
	core.Advance(untilNanos+second/2, untilNanos+second/2)
	for r := core.Next(); r != nil; r = core.Next() {
		all = append(all, r)
	}
	return all
}

func TestConfigIsChecked(t *testing.T) {
	for name, edit := range map[string]func(*analysis.Config){
		"interval":      func(c *analysis.Config) { c.Window.Interval = -1 },
		"method":        func(c *analysis.Config) { c.Segment.Method = "guess" },
		"gap_intervals": func(c *analysis.Config) { c.Track.GapIntervals = -1 },
		"hot_percent":   func(c *analysis.Config) { c.Hot.ListPercent = 1 },
	} {
		cfg := analysis.DefaultConfig()
		edit(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), name) { // `giverny config check` makes no core
			t.Errorf("%s: Validate returns %v", name, err)
		}
		if _, err := analysis.New(newGraph(t, "torus:4x4"), cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestRangesOfValues(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		hold, within time.Duration
		coverage     float64
		ok           bool
	}{
		{0, 0, 0, true}, {time.Hour, week, 1, true}, {-1, 0, 0, false}, {time.Hour + 1, 0, 0, false}, {0, -1, 0, false}, {0, week + 1, 0, false},
		{0, 0, -0.01, false}, {0, 0, 1.01, false},
	} {
		cfg := analysis.DefaultConfig()
		cfg.Hold, cfg.CompleteWithin, cfg.MinCoverage = c.hold, c.within, c.coverage
		if err := cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A result says what was dropped since the one before, not since the start; readings refused for their clock, too.
func TestDropsOfAnIntervalAreItsOwn(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	var unknown, ahead []uint64
	for i, strangers := range []int{3, 3, 0, 5} {
		at := (10 + int64(i)) * second
		b := f.poll(at, calm)
		for p := range strangers {
			b.Ports[p].Device = "stranger"
		}
		if strangers == 5 {
			if got, err := core.CheckClock(f.poll(at, calm), clockcheck.Times{SentNanos: at + 3600*second, AppendedNanos: at}); err != nil || got.Rows() != 0 {
				t.Fatalf("a clock an hour ahead: %d rows are accepted, %v", got.Rows(), err)
			}
		}
		add(t, core, b)
		for _, r := range results(core, at) {
			unknown, ahead = append(unknown, r.Dropped["unknown_port"]), append(ahead, r.Dropped["clock_ahead"])
		}
	}
	// The first interval ends with the second poll.
	if want := []uint64{3 + 3, 0, 5}; !slices.Equal(unknown, want) {
		t.Errorf("unknown ports %v, want %v", unknown, want)
	}
	if want := []uint64{0, 0, uint64(2 * g.NumLinks())}; !slices.Equal(ahead, want) {
		t.Errorf("readings by a clock ahead %v, want %v", ahead, want)
	}
}

func event(nanos int64, detail string) schema.Event {
	return schema.Event{TimeNanos: nanos, Fabric: "f", Kind: schema.JobStarted, Detail: detail}
}

// details joins the details of each interval's events.
func details(all []*schema.IntervalResult) map[int64]string {
	m := map[int64]string{}
	for _, r := range all {
		for _, e := range r.Events {
			m[r.Snapshot.Interval.StartNanos/second] += e.Detail + " "
		}
	}
	return m
}

func TestEventsComeWithTheirInterval(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	for _, e := range []schema.Event{event(11*second, "first"), event(10*second+5, "b"), event(10*second, "a"), event(12*second-1, "last"), event(10*second+5, "c")} {
		core.AddEvents([]schema.Event{e}, 0)
	}
	add(t, core, f.poll(10*second, calm), f.poll(11*second, calm))
	got := results(core, 12*second)
	core.AddEvents([]schema.Event{event(10*second, "late")}, 0)
	add(t, core, f.poll(12*second, calm))
	got = append(got, results(core, 13*second)...)
	if diff := cmp.Diff(map[int64]string{10: "a b c ", 11: "first last ", 12: "late "}, details(got)); diff != "" {
		t.Error(diff)
	}
}

func TestOtherFabricIsRefused(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	b := f.poll(10*second, calm)
	b.Fabric = "g"
	if err := core.Add(b); err == nil || !strings.Contains(err.Error(), `for fabric "g": wrong fabric`) {
		t.Errorf("error %v", err)
	}
	b.Fabric = "f"
	add(t, core, b)
	if got := results(core, 11*second); len(got) != 1 || len(got[0].Raw) != 1 {
		t.Errorf("after the refusal %d results", len(got))
	}
}

func TestWrongTopologyIsSaid(t *testing.T) {
	large := fabric{graph: newGraph(t, "torus:8x8")}
	core := newCore(t, newGraph(t, "torus:4x4"))
	add(t, core, large.poll(10*second, calm))
	err := core.CheckTopology()
	if err == nil || !strings.Contains(err.Error(), "the topology does not match the data") {
		t.Fatalf("error %v", err)
	}
	_, list, _ := strings.Cut(err.Error(), "the first is ")
	list, advice, _ := strings.Cut(list, "; ")
	if n := strings.Count(list, ", ") + 1; n != 5 || !strings.Contains(advice, "topology") {
		t.Errorf("%d mismatches in %q", n, err)
	}
}

// A host that is installed but not yet imported does not make the topology wrong, even
// if it reports first; nor does what comes after the topology was found to fit.
func TestUnlistedHostIsNoWrongTopology(t *testing.T) {
	small := fabric{graph: newGraph(t, "torus:4x4")}
	core := newCore(t, small.graph)
	unlisted := func(name string, ports int) *schema.CounterBatch {
		b := small.poll(10*second, calm)
		b = rowsOf(b, 0, ports, 1)
		b.Ports = slices.Clone(b.Ports[:ports])
		for i := range b.Ports {
			b.Ports[i].Device = name + b.Ports[i].Device
		}
		return b
	}
	add(t, core, unlisted("new", 2))
	if err := core.CheckTopology(); err != nil {
		t.Fatal(err)
	}
	add(t, core, small.poll(10*second, calm))
	if err := core.CheckTopology(); err != nil {
		t.Fatal(err)
	}
	for _, rack := range []string{"a", "b", "c"} {
		add(t, core, unlisted(rack, 32))
	}
	if err := core.CheckTopology(); err != nil {
		t.Errorf("checked again: %v", err)
	}
	if core.Drops()["unknown_port"] == 0 {
		t.Error("the unlisted ports are not counted")
	}
}

// life returns the polls of a fabric that is calm, hot, and calm again.
func life(g *topology.Graph) (batches []*schema.CounterBatch) {
	f := fabric{graph: g}
	for s := int64(10); s <= 30; s++ {
		percent := calm
		if s > 13 && s < 24 {
			percent = hotQuarter(g)
		}
		batches = append(batches, f.poll(s*second, percent))
	}
	return batches
}

// The first of the resumed intervals may be later than the region's birth.
func TestResumeGoesOnBehindWhatIsStored(t *testing.T) {
	g := newGraph(t, "torus:4x4x4")
	batches := life(g)
	whole := newCore(t, g)
	events := []schema.Event{event(14*second, "stored"), event(19*second, "new")}
	for _, e := range events {
		whole.AddEvents([]schema.Event{e}, 0)
	}
	add(t, whole, batches...)
	want := results(whole, 31*second)

	const stored = 8 // intervals
	last := want[stored-1].Snapshot.Interval
	var recent []analysis.Interval
	for _, r := range want[stored-3 : stored] {
		if len(r.Regions) == 0 {
			t.Fatal("no region is there to hand its identity on")
		}
		recent = append(recent, analysis.Interval{Interval: r.Snapshot.Interval, Regions: slices.Clone(r.Regions)})
	}
	core := newCore(t, g)
	core.Recall(analysis.Feeds{Events: events[:1]})
	if err := core.Resume(recent); err != nil {
		t.Fatal(err)
	}
	for _, e := range append(events, event(15*second, "unstored")) {
		core.AddEvents([]schema.Event{e}, 0)
	}
	add(t, core, batches...)
	got := results(core, 31*second)
	if len(got) != len(want)-stored {
		t.Fatalf("%d results behind %v, want %d", len(got), last, len(want)-stored)
	}
	for i, r := range got {
		w := want[stored+i]
		if r.Snapshot.Interval != w.Snapshot.Interval {
			t.Fatalf("result %d is of %v, want %v", i, r.Snapshot.Interval, w.Snapshot.Interval)
		}
		if diff := cmp.Diff(w.Regions, r.Regions, cmpopts.IgnoreFields(schema.Forecast{}, "Next", "Later")); diff != "" { // what is learned needs Load
			t.Errorf("%v: regions (-uninterrupted +resumed):\n%s", r.Snapshot.Interval, diff)
		}
	}
	at := details(got)
	if first := last.EndNanos() / second; at[first] != "unstored " {
		t.Errorf("events of the first interval: %q", at[first])
	}
	if at[19] != "new " || !strings.Contains(fmt.Sprint(at), "is gone") {
		t.Errorf("events %v", at)
	}
}

func TestRegionEventsSayWhere(t *testing.T) {
	g := newGraph(t, "torus:4x4x4")
	core := newCore(t, g)
	add(t, core, life(g)...)
	found := map[schema.EventKind]string{}
	for _, r := range results(core, 31*second) {
		for _, e := range r.Events {
			found[e.Kind] = e.Detail
		}
	}
	want := map[schema.EventKind]string{schema.CongestionBegan: "congestion event: a region is High, mean stall 40.0%",
		schema.RegionBorn:  "High credit_stall region at (0,0,0) 4x4x2, 48 links",
		schema.RegionEnded: "High credit_stall region at (0,0,0) 4x4x2, 48 links, is gone after 10 intervals"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestResultsOutliveTheNext(t *testing.T) {
	g := newGraph(t, "torus:4x4x4")
	core := newCore(t, g)
	var kept []*schema.IntervalResult
	var copies [][]schema.Region
	for _, b := range life(g) {
		add(t, core, b)
		for _, r := range results(core, b.TimeNanos[0]) {
			var regions []schema.Region
			for _, region := range r.Regions {
				regions = append(regions, region.Clone())
			}
			kept, copies = append(kept, r), append(copies, regions)
			core.Recycle(r)
		}
	}
	seen := 0
	for i, r := range kept {
		seen += len(r.Regions)
		if !slices.EqualFunc(r.Regions, copies[i], func(a, b schema.Region) bool { return cmp.Equal(a, b) }) {
			t.Errorf("the regions of result %d have changed", i)
		}
	}
	if seen == 0 {
		t.Fatal("no region was found")
	}
}

// A region does not end because nothing is measured: it is reported as ended when a measured interval does not have it.
func TestRegionsDoNotEndInSilence(t *testing.T) {
	g := newGraph(t, "torus:4x4x4")
	core := newCore(t, g)
	ended := func(untilNanos int64) (kinds []schema.EventKind) {
		for _, r := range results(core, untilNanos) {
			if r.Network.Unknown == nil && len(r.Snapshot.Series) == 0 {
				t.Errorf("%v: calm, and nothing was measured", r.Snapshot.Interval)
			}
			for _, e := range r.Events {
				if e.Kind == schema.RegionEnded {
					kinds = append(kinds, e.Kind)
				}
			}
		}
		return kinds
	}
	f := fabric{graph: g}
	for s := int64(10); s < 20; s++ {
		add(t, core, f.poll(s*second, hotQuarter(g)))
	}
	if early := ended(30 * second); len(early) != 0 {
		t.Errorf("in silence: %v", early)
	}
	for s := int64(30); s < 34; s++ {
		add(t, core, f.poll(s*second, calm))
	}
	if late := ended(34 * second); len(late) != 1 {
		t.Errorf("after it: %v, want one end", late)
	}
}
