package window_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := window.Config{Interval: 1, ClockLateness: -1, EventTimeLateness: -1, MaxGapIntervals: 0, MaxAheadIntervals: -1, MaxJumpIntervals: 0,
		MinCoverOfInterval: 2, MaxSkew: -1, TickPicoseconds: -1, TickBytes: -1, Metrics: []schema.Metric{schema.NoMetric}}
	err := cfg.Validate()
	for _, want := range []string{"interval: ", "allowed_lateness: ", "event_time_lateness: ", "max_gap_intervals: ", "max_ahead_intervals: ", "max_jump_intervals: ", "min_cover: ", "max_skew: ", "tick_picoseconds: ", "tick_bytes: ", "metrics: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	if _, err := window.New(grid(t, "mesh:2"), cfg); err == nil {
		t.Error("New takes a configuration that is not valid")
	}
	cfg = window.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

func grid(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "f", spec)
}

func newOf(t testing.TB, g *topology.Graph) *window.Window {
	t.Helper()
	w, err := window.New(g, window.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// traffic returns a batch of one row per port: gemini.traffic_bytes at an instant.
func traffic(seconds int64, value uint64, ports ...schema.PortName) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "f", Agent: "a", Source: "s", Ports: ports, Columns: []schema.CounterColumn{{Name: "gemini.traffic_bytes"}}}
	for i := range ports {
		b.TimeNanos, b.PortIndex = append(b.TimeNanos, seconds*1e9), append(b.PortIndex, uint32(i))
		b.Columns[0].Values = append(b.Columns[0].Values, value)
	}
	return b
}

func TestAddRefusesWhatDoesNotFitTogether(t *testing.T) {
	port := schema.PortName{Device: "0", Port: "X+"}
	for name, spoil := range map[string]func(b *schema.CounterBatch){
		"fabric":       func(b *schema.CounterBatch) { b.Fabric = "g" },
		"port index":   func(b *schema.CounterBatch) { b.PortIndex[0] = 1 },
		"port indices": func(b *schema.CounterBatch) { b.PortIndex = nil },
		"values":       func(b *schema.CounterBatch) { b.Columns[0].Values = nil },
		"bits":         func(b *schema.CounterBatch) { b.Columns[0].Valid = schema.Bitmap{} },
	} {
		b := traffic(0, 0, port)
		spoil(b)
		if err := newOf(t, grid(t, "mesh:2")).Add(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := newOf(t, grid(t, "mesh:2")).Add(&schema.CounterBatch{Fabric: "f", Columns: []schema.CounterColumn{{Name: "gemini.traffic_bytes"}}}); err != nil {
		t.Errorf("a batch without rows: %v", err)
	}
}

// Sources change their dictionaries, and reuse the memory of names.
func TestDictionariesAreNotTakenForEachOther(t *testing.T) {
	w := newOf(t, grid(t, "mesh:4"))
	zero, one, two := schema.PortName{Device: "0", Port: "X+"}, schema.PortName{Device: "1", Port: "X+"}, schema.PortName{Device: "2", Port: "X+"}
	names := []schema.PortName{zero, one, two}
	for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {0, 1, 2}, {0, 2, 2}, {0, 1, 2}} {
		b := traffic(int64(i)*60, 0, names[order[0]], names[order[1]], names[order[2]])
		for r, port := range order {
			b.Columns[0].Values[r] = uint64(i * 60 * (port + 1))
		}
		if i == 2 {
			b.Ports[1].Port = "Y+" // no such port: it is back in the next batch but one
		}
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; ; i++ {
		s := w.Next()
		if s == nil {
			if i < 3 {
				t.Errorf("%d snapshots", i)
			}
			break
		}
		for link := range s.Links {
			if v := s.Series[0].Values[link]; s.Series[0].Valid.Has(link) && v != float32(link+1) {
				t.Errorf("snapshot %d: link %d carries %v", i, link, v)
			}
		}
		if s.Series[0].Count < 2 {
			t.Errorf("snapshot %d: %d links", i, s.Series[0].Count)
		}
	}
	if known, unknown := w.Ports(); known != 3 || unknown != 1 {
		t.Errorf("%d ports known, %d not", known, unknown)
	}
}

func TestPortsGoByGUID(t *testing.T) {
	b := topology.NewBuilder("f")
	host := b.Device(topology.Device{Name: "node1 mlx5_0", Kind: topology.Host, GUID: "0x1"})
	sw := b.Device(topology.Device{Name: "leaf", GUID: "0x2"})
	b.Link(topology.Link{From: host, FromPort: "1", To: sw, ToPort: "7", CapacityBytesPerSecond: 1e9}) // one way only
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	w := newOf(t, g)
	for i := range int64(3) {
		if err := w.Add(traffic(i*60, uint64(i)*600, schema.PortName{Device: "0x1", Port: "1"}, schema.PortName{Device: "leaf", Port: "7"})); err != nil {
			t.Fatal(err)
		}
	}
	s := w.Next()
	if s == nil || !s.Series[0].Valid.Has(0) || s.Series[0].Values[0] != 10 {
		t.Errorf("snapshot %+v", s)
	}
	if n := w.Drops()[window.NoLink.String()]; n != 2 { // nothing leaves port 7, in two intervals
		t.Errorf("%d values without a link", n)
	}
}

// A later version of a graph may have entirely different numbers.
func TestSetGraph(t *testing.T) {
	w := newOf(t, grid(t, "mesh:4"))
	ports := []schema.PortName{{Device: "0", Port: "X+"}, {Device: "1", Port: "X+"}, {Device: "2", Port: "X+"}}
	add := func(seconds int64) {
		t.Helper()
		if err := w.Add(traffic(seconds, uint64(seconds)*10, ports...)); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	add(50)
	b := topology.NewBuilder("f")
	b.SetDuplex()
	device := func(name string) topology.DeviceID { return b.Device(topology.Device{Name: name}) }
	b.Link(topology.Link{From: device("9"), FromPort: "X+", To: device("8"), ToPort: "X-"})
	b.Link(topology.Link{From: device("2"), FromPort: "X+", To: device("3"), ToPort: "X-"})
	b.Link(topology.Link{From: device("1"), FromPort: "X+", To: device("4"), ToPort: "X-"}) // another peer
	b.Link(topology.Link{From: device("0"), FromPort: "X+", To: device("1"), ToPort: "X-"})
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetGraph(g); err != nil {
		t.Fatal(err)
	}
	add(60)
	s := w.Next()
	if s == nil || s.GraphVersion != g.Version() || s.Links != 4 {
		t.Fatalf("snapshot %+v", s)
	}
	want := []float32{0, 10, 0, 10}
	if r := s.Series[0]; !slices.Equal(r.Values, want) || r.Count != 2 {
		t.Errorf("%d of %v, want %v", r.Count, r.Values, want)
	}
	if err := w.SetGraph(func() *topology.Graph { g, _ := topology.Parse("other", "mesh:2"); return g }()); err == nil {
		t.Error("a graph of another fabric is taken")
	}
}

func TestLowWaterWaitsForWhatIsNotTaken(t *testing.T) {
	cfg := window.DefaultConfig()
	w := newOf(t, grid(t, "mesh:2"))
	if low := w.LowWater(); low != -1<<63 {
		t.Errorf("low water %d before any reading", low)
	}
	for i := int64(10); i <= 12; i++ {
		if err := w.Add(traffic(i*60, 0, schema.PortName{Device: "0", Port: "X+"})); err != nil {
			t.Fatal(err)
		}
	}
	margin := int64(cfg.MaxGapIntervals)*60e9 + 90e9 + 60e9
	for _, start := range []int64{600e9, 660e9, 720e9} {
		if low := w.LowWater(); low != start-margin {
			t.Errorf("low water %d, want %d before %d", low, margin, start)
		}
		w.Next()
	}
}

// Advance closes nothing that has not been read, nor by an instant that is still to come; instants beyond all bounds do no
// harm.
func TestAdvanceIsBounded(t *testing.T) {
	w := newOf(t, grid(t, "mesh:2"))
	add := func(seconds int64) {
		t.Helper()
		if err := w.Add(traffic(seconds, uint64(seconds), schema.PortName{Device: "0", Port: "X+"})); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	add(60)
	for _, step := range []struct{ complete, now, closed int64 }{
		{math.MinInt64, 600e9, 1}, {1000e9, 149e9, 0}, {1000e9, 150e9, 1}, {math.MaxInt64, math.MinInt64, 0}, {math.MinInt64, math.MinInt64, 0},
		{180e9, math.MaxInt64, 0}, {210e9, math.MaxInt64, 1},
	} {
		w.Advance(step.complete, step.now)
		closed := int64(0)
		for w.Next() != nil {
			closed++
		}
		if closed != step.closed {
			t.Errorf("read up to %d at %d: %d intervals closed, want %d", step.complete, step.now, closed, step.closed)
		}
	}
	if add(200); w.Drops()["early"] != 0 {
		t.Errorf("drops %v", w.Drops())
	}
}

// An interval lacks a row that comes after it has closed, but not one that is delivered again then.
func TestWhatIsDeliveredAgainIsNotLost(t *testing.T) {
	w := newOf(t, grid(t, "mesh:3"))
	ports := []schema.PortName{{Device: "0", Port: "X+"}, {Device: "1", Port: "X+"}}
	minute := func(n int64, ports ...schema.PortName) {
		t.Helper()
		if err := w.Add(traffic(60*n, uint64(600*n), ports...)); err != nil {
			t.Fatal(err)
		}
		for w.Next() != nil {
		}
	}
	minute(0, ports...)
	minute(1, ports...)
	minute(2, ports...)
	w.Advance(400e9, 400e9)
	for w.Next() != nil {
	}
	w.TakeLost()
	minute(2, ports...)
	if lost := w.TakeLost(); lost.Rows != 0 {
		t.Errorf("delivered twice: %+v", lost)
	}
	if err := w.Add(traffic(125, 1250, ports...)); err != nil {
		t.Fatal(err)
	}
	if lost := w.TakeLost(); lost.Rows != 2 {
		t.Errorf("late: %+v, want 2 rows", lost)
	}
}

func TestReasonsHaveNames(t *testing.T) {
	drops := newOf(t, grid(t, "mesh:2")).Drops()
	for _, r := range window.Reasons() {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
		if _, there := drops[r.String()]; !there {
			t.Errorf("reason %s is not there at zero", r)
		}
	}
	if len(drops) != len(window.Reasons()) {
		t.Errorf("%d drops of %d reasons", len(drops), len(window.Reasons()))
	}
}

// Once warm, an interval allocates nothing, however many rows it has.
func TestNoAllocationOnceWarm(t *testing.T) {
	for _, columns := range [][]string{{"gemini.credit_stall_ns", "gemini.traffic_bytes"}, {"gemini.credit_stall", "gemini.used_bw"}} {
		g := grid(t, "torus:6x6x6")
		cfg := window.DefaultConfig()
		cfg.Interval = time.Second
		w, err := window.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		batches, interval, snapshots := torusBatches(g, columns...), 0, 0
		step := func() {
			interval++
			nextInterval(batches, interval, columns[0] == "gemini.credit_stall")
			for _, b := range batches {
				if err := w.Add(b); err != nil {
					t.Fatal(err)
				}
			}
			for s := w.Next(); s != nil; s = w.Next() {
				snapshots++
				w.Recycle(s)
			}
		}
		for range 5 {
			step()
		}
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%v: %v allocations an interval", columns, n)
		}
		if snapshots < 24 {
			t.Errorf("%v: %d snapshots", columns, snapshots)
		}
	}
}

// Recycled snapshots share no memory with those still in use.
func TestRecycledSnapshotsAreClean(t *testing.T) {
	w := newOf(t, grid(t, "mesh:4"))
	ports := []schema.PortName{{Device: "0", Port: "X+"}, {Device: "1", Port: "X+"}, {Device: "2", Port: "X+"}}
	var kept, copied *schema.Snapshot
	for i := range int64(6) {
		n := 3
		if i > 3 {
			n = 1
		}
		if err := w.Add(traffic(i*60, uint64(i*i)*600, ports[:n]...)); err != nil {
			t.Fatal(err)
		}
		w.Advance(i*60e9+30e9, i*60e9+30e9)
		for s := w.Next(); s != nil; s = w.Next() {
			if s.Series[0].Count != s.Series[0].Valid.Count() || i > 3 && s.Series[0].Count != 1 {
				t.Errorf("interval %d: %d links", i, s.Series[0].Count)
			}
			if kept == nil {
				kept, copied = s, clone(s)
			} else {
				w.Recycle(s)
			}
		}
	}
	if diff := cmp.Diff(copied, kept); diff != "" {
		t.Errorf("a snapshot in use has changed: %s", diff)
	}
}
