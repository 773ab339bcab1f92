package analysis_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

const second = int64(1e9)

func newGraph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("f", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func newCore(t testing.TB, g *topology.Graph) *analysis.Core {
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

// fabric makes polls of all ports, whose counters go on from poll to poll.
type fabric struct {
	graph    *topology.Graph
	stalled  []uint64 // by link, nanoseconds
	sequence uint64
}

// poll reads every port at an instant, a second after the poll before; percent
// is how long each link stalled in that second. The third column is known to
// no table, and what it shows is its row's number.
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

// hotQuarter is a region of the first quarter of the links.
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

// results closes what ended by an instant.
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
		if _, err := analysis.New(newGraph(t, "torus:4x4"), cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestUnknownCountersAreKeptOncePerDelivery(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	first, second2 := f.poll(10*second, calm), f.poll(11*second, calm)
	add(t, core, first, first, second2, first, second2) // delivered again
	var mystery []int
	for _, r := range results(core, 12*second) {
		for _, raw := range r.Raw {
			if len(raw.Columns) != 1 || raw.Columns[0].Name != "vendor.mystery" || raw.Agent != "a" || raw.Source != "test" {
				t.Fatalf("kept raw: %+v", raw)
			}
			if schema.IntervalAt(raw.TimeNanos[0], second) != r.Snapshot.Interval {
				t.Errorf("readings of %d came with %v", raw.TimeNanos[0], r.Snapshot.Interval)
			}
			mystery = append(mystery, len(raw.Columns[0].Values))
		}
	}
	if want := []int{2 * g.NumLinks(), 2 * g.NumLinks()}; !slices.Equal(mystery, want) {
		t.Errorf("raw readings by interval: %v, want %v", mystery, want)
	}
}

// A batch may hold several intervals, and rows of one interval apart.
func TestUnknownCountersLieInTheirInterval(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	core := newCore(t, g)
	l := g.Link(0)
	b := &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: g.Device(l.From).Name, Port: l.FromPort}, {Device: g.Device(l.To).Name, Port: l.ToPort}},
		PortIndex: []uint32{0, 0, 1, 1}, TimeNanos: []int64{10 * second, 11 * second, 10 * second, 11 * second},
		Columns: []schema.CounterColumn{{Name: "vendor.mystery", Values: []uint64{1, 2, 3, 4}, Valid: schema.NewBitmap(4)}, {Name: "gemini.traffic_bytes", Values: []uint64{1, 2, 3, 4}}}}
	for _, row := range []int{0, 1, 3} {
		b.Columns[0].Valid.Set(row)
	}
	add(t, core, b)
	got := map[int64][]string{}
	for _, r := range results(core, 12*second) {
		for _, raw := range r.Raw {
			for i := range raw.TimeNanos {
				value := "missing"
				if c := raw.Columns[0]; c.Valid.Has(i) {
					value = fmt.Sprint(c.Values[i])
				}
				start := r.Snapshot.Interval.StartNanos / second
				got[start] = append(got[start], raw.Ports[raw.PortIndex[i]].Device+"="+value)
			}
		}
	}
	a, z := b.Ports[0].Device, b.Ports[1].Device
	if diff := cmp.Diff(map[int64][]string{10: {a + "=1", z + "=missing"}, 11: {a + "=2", z + "=4"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRawReadingsAreNotTheDecoders(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	b := f.poll(10*second, calm)
	add(t, core, b)
	for i := range b.Columns { // the decoder uses its memory again
		b.Columns[i].Name = "other"
		for row := range b.Columns[i].Values {
			b.Columns[i].Values[row] = 1 << 40
		}
	}
	clear(b.TimeNanos)
	clear(b.PortIndex)
	clear(b.Ports)
	raw := results(core, 11*second)[0].Raw[0]
	for row, v := range raw.Columns[0].Values {
		if v != uint64(row) || raw.TimeNanos[row] != 10*second || raw.PortIndex[row] != uint32(row) || raw.Ports[row].Device == "" {
			t.Fatalf("row %d of what was kept has changed: %d", row, v)
		}
	}
}

func TestLateAndTooManyRawReadingsAreCounted(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	drops := core.Drops()
	for _, reason := range []string{"raw_late", "raw_full", "late", "unknown_port"} {
		if n, there := drops[reason]; !there || n != 0 {
			t.Errorf("at the start %s is %d (%v), want 0", reason, n, there)
		}
	}
	late := f.poll(10*second, calm)
	add(t, core, f.poll(11*second, calm))
	results(core, 12*second)
	add(t, core, late)
	port := f.poll(12*second, calm)
	const rows = 1 << 17
	huge := &schema.CounterBatch{Fabric: "f", Ports: port.Ports, TimeNanos: slices.Repeat([]int64{12 * second}, rows), PortIndex: make([]uint32, rows)}
	values := make([]uint64, rows)
	for i := range 65 { // 64 fit
		huge.Columns = append(huge.Columns, schema.CounterColumn{Name: fmt.Sprint("vendor.", i), Values: values})
	}
	add(t, core, huge, port)
	r := results(core, 13*second)
	if got, want := r[0].Dropped["raw_late"], uint64(2*g.NumLinks()); got != want {
		t.Errorf("%d late, want %d", got, want)
	}
	if got := r[0].Dropped["raw_full"]; got != 65*rows {
		t.Errorf("%d too many, want %d", got, 65*rows)
	}
	if _, again := results(core, 14*second)[0].Dropped["raw_full"]; again {
		t.Error("a drop is reported twice")
	}
	if core.Drops()["raw_full"] != 65*rows {
		t.Error("the sum since the start forgets")
	}
}

func event(nanos int64, detail string) schema.Event {
	return schema.Event{TimeNanos: nanos, Fabric: "f", Kind: schema.JobStarted, Detail: detail}
}

// details lists by interval what is in the events.
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
		core.AddEvent(e)
	}
	add(t, core, f.poll(10*second, calm), f.poll(11*second, calm))
	got := results(core, 12*second)
	core.AddEvent(event(10*second, "late"))
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
	if err := core.Add(b); !errors.Is(err, analysis.ErrOtherFabric) || !strings.Contains(err.Error(), `"g"`) {
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
	if !errors.Is(err, analysis.ErrWrongTopology) {
		t.Fatalf("error %v", err)
	}
	_, list, _ := strings.Cut(err.Error(), "the first: ")
	list, advice, _ := strings.Cut(list, "; ")
	if n := strings.Count(list, ", ") + 1; n != 5 || !strings.Contains(advice, "topology") {
		t.Errorf("%d mismatches in %q", n, err)
	}
}

// A host that is racked and not imported yet is no reason, even if it reports
// first; nor is what comes after the topology has been found to fit.
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

// life is a fabric that is calm, hot, and calm again.
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
		whole.AddEvent(e)
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
	if err := core.Resume(recent, events[:1]); err != nil {
		t.Fatal(err)
	}
	for _, e := range append(events, event(15*second, "unstored")) {
		core.AddEvent(e)
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
				region.Links = slices.Clone(region.Links)
				region.Box = &schema.Box{Min: slices.Clone(region.Box.Min), Max: slices.Clone(region.Box.Max)}
				regions = append(regions, region)
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

// rowsOf is a part of a batch.
func rowsOf(b *schema.CounterBatch, from, to int, sequence uint64) *schema.CounterBatch {
	part := *b
	part.Sequence, part.TimeNanos, part.PortIndex, part.Columns = sequence, b.TimeNanos[from:to], b.PortIndex[from:to], slices.Clone(b.Columns)
	for i := range part.Columns {
		part.Columns[i].Values = part.Columns[i].Values[from:to]
	}
	return &part
}

// digest is a result for comparison: how its raw readings are parted into
// batches does not matter, and unknown columns are counted by batch.
func digest(all []*schema.IntervalResult) []string {
	var lines []string
	for _, r := range all {
		s := r.Snapshot
		delete(r.Dropped, "unknown_counter")
		regions, _ := json.Marshal(r.Regions) // prints the boxes, not where they lie
		lines = append(lines, fmt.Sprint(s.Interval, s.Samples, s.LastReadNanos, r.Dropped, string(regions), r.Events))
		for _, series := range s.Series {
			lines = append(lines, fmt.Sprint(series.Metric, series.Count, series.Values, series.Valid))
		}
		for _, raw := range r.Raw {
			for i, nanos := range raw.TimeNanos {
				lines = append(lines, fmt.Sprint(nanos, raw.Ports[raw.PortIndex[i]], raw.Columns[0].Values[i]))
			}
		}
	}
	return lines
}

func TestHowBatchesAreSplitDoesNotMatter(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	rapid.Check(t, func(t *rapid.T) {
		f := fabric{graph: g}
		whole, split := rapidCore(t, g), rapidCore(t, g)
		var got, want []*schema.IntervalResult
		sequence := uint64(0)
		polls := rapid.Int64Range(2, 8).Draw(t, "polls")
		for s := int64(10); s < 10+polls; s++ {
			hot := rapid.Uint64Range(0, 3).Draw(t, "hot") * 15
			b := f.poll(s*second+rapid.Int64Range(0, second-1).Draw(t, "skew"), func(l schema.LinkID) uint64 { return hot * uint64(l%2) })
			if err := whole.Add(b); err != nil {
				t.Fatal(err)
			}
			for from := 0; from < b.Rows(); {
				to := rapid.IntRange(from+1, b.Rows()).Draw(t, "cut")
				sequence++
				if err := split.Add(rowsOf(b, from, to, sequence)); err != nil {
					t.Fatal(err)
				}
				from = to
			}
			got, want = append(got, results(split, s*second)...), append(want, results(whole, s*second)...)
		}
		got, want = append(got, results(split, 30*second)...), append(want, results(whole, 30*second)...)
		if g, w := digest(got), digest(want); !slices.Equal(g, w) {
			t.Fatal(cmp.Diff(w, g))
		}
	})
}

func rapidCore(t *rapid.T, g *topology.Graph) *analysis.Core {
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness = time.Second, time.Second/2
	cfg.Segment.Method, cfg.Segment.MinLinks = segment.Paper, 3
	core, err := analysis.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

func TestGapsInTheNumbersOfBatchesAreCounted(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	first := f.poll(10*second, calm)
	f.sequence += 3
	next := f.poll(11*second, calm)
	add(t, core, first, next, first)
	if n := core.MissingBatches(); n != 3 {
		t.Errorf("%d batches missing, want 3", n)
	}
}
