package store

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/schema"
)

const minute = int64(60e9)

// someResult is a result with something for every table, the same for the same
// arguments.
func someResult(fabric string, n int64, links int) *schema.IntervalResult {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1<<63 + 7, Interval: schema.Interval{StartNanos: n * minute, DurationNanos: minute}, Links: links,
		FirstReadNanos: n*minute + 1, LastReadNanos: n*minute + minute - 1, Samples: 3 * links}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
		for i := range s.Values {
			if rng.IntN(20) == 0 {
				continue
			}
			s.Valid.Set(i)
			s.Count++
			s.Values[i] = float32(rng.ExpFloat64())
			if m == schema.Throughput {
				s.Values[i] *= 1e9
			}
		}
		snap.Series = append(snap.Series, s)
	}
	r := &schema.IntervalResult{Snapshot: snap, Dropped: map[string]uint64{"late": 3, "reset": 1}}
	r.Regions = []schema.Region{
		{Metric: schema.CreditStall, Links: []schema.LinkID{3, 4, 9}, Size: 3, Mean: 27.5, Max: 40, Severity: schema.High, Name: "(0,0,0) 1x1x3",
			Box: &schema.Box{Min: []int{0, 0, 23}, Max: []int{0, 0, 2}}, ID: 1<<63 + 5, AgeIntervals: int(n), BirthNanos: minute + 1},
		{Metric: schema.InqStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: 7, Max: 8, Severity: schema.Low, Name: "leaf 'one'\n"},
	}
	r.Regions[0].Forecast = &schema.Forecast{GrowthLinks: -3, TrendPercent: .25, Next: schema.Odds{0, .1, .2, .6, .1}, Later: schema.Odds{.2, .2, .2, .2, .2}}
	r.States = schema.NetworkStates(snap, r.Regions)
	r.Network = schema.NetworkForecast{Next: schema.Odds{.5, .3, .1, .1}, Later: schema.Odds{.2, .4, .2, .2}}
	r.Congestion = &schema.CongestionEvent{BeginNanos: minute, EndNanos: n*minute + minute, PeakMeanPercent: 27.5 + float64(n)}
	r.Transitions = []schema.Transition{{Metric: schema.CreditStall, From: 3, To: 3}, {Metric: schema.InqStall, From: schema.Gone, To: 1}, {Metric: schema.CreditStall, From: 3, To: 3}}
	r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 9, SinceNanos: minute}, {Metric: schema.InqStall, Link: 1, SinceNanos: n * minute}}
	r.Episodes = []schema.HotEpisode{{Metric: schema.InqStall, ThresholdPercent: 5, Intervals: n}, {Metric: schema.CreditStall, ThresholdPercent: 12.5, Intervals: 1}}
	r.Events = []schema.Event{{TimeNanos: n*minute + 5, Fabric: fabric, Kind: schema.RegionBorn, RegionID: 1<<63 + 5, Detail: "born"},
		{TimeNanos: n*minute + 7, Fabric: fabric, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	r.Raw = []*schema.CounterBatch{{Fabric: fabric, Ports: []schema.PortName{{Device: "a", Port: "1"}, {Device: "b", Port: "2"}},
		TimeNanos: []int64{n * minute, n*minute + 1}, PortIndex: []uint32{0, 1}, Columns: []schema.CounterColumn{
			{Name: "ib.symbol_error", Values: []uint64{1, 2}},
			{Name: "new.thing", Values: []uint64{1, 1 << 63}, Valid: schema.Bitmap{2}},
			{Name: "ib.port_xmit_data", Values: []uint64{5, 6}},
		}}}
	return r
}

// asStored is what a snapshot becomes by the documented precision.
func asStored(s *schema.Snapshot) *schema.Snapshot {
	out := *s
	out.Series = nil
	for _, series := range s.Series {
		values := make([]float32, s.Links)
		for i := range values {
			switch {
			case !series.Valid.Has(i):
			case series.Metric.Unit() == schema.Percent:
				values[i] = float32(math.Round(float64(series.Values[i])*100) / 100)
			default:
				values[i] = series.Values[i]
			}
		}
		series.Values = values
		out.Series = append(out.Series, series)
	}
	return &out
}

var tolerance = cmp.Comparer(func(a, b float32) bool {
	return math.Abs(float64(a)-float64(b)) <= 1.0/4096*math.Abs(float64(b))
})

func TestStoreAndReadBack(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	for n := int64(1); n <= 3; n++ {
		if err := db.Store(ctx, someResult("bw", n, 1300)); err != nil {
			t.Fatal(err)
		}
	}
	want := someResult("bw", 2, 1300)
	span := SpanOf(want.Snapshot.Interval)

	last, err := db.LastStored(ctx, "bw")
	if err != nil || last.StartNanos != 3*minute || last.DurationNanos != minute || last.GraphVersion != 1<<63+7 {
		t.Errorf("LastStored = %+v, %v", last, err)
	}
	stored, err := db.Intervals(ctx, "bw", span)
	if err != nil || len(stored) != 1 {
		t.Fatalf("Intervals = %+v, %v", stored, err)
	}
	snap := want.Snapshot
	wantStored := Stored{Interval: snap.Interval, GraphVersion: snap.GraphVersion, Links: 1300, Samples: 3900, Dropped: want.Dropped, Regions: 2, Events: 2, Raw: 3,
		Measured:       map[schema.Metric]int{schema.CreditStall: snap.Series[0].Count, schema.InqStall: snap.Series[1].Count, schema.Throughput: snap.Series[2].Count},
		FirstReadNanos: snap.FirstReadNanos, LastReadNanos: snap.LastReadNanos, StoredAtNanos: stored[0].StoredAtNanos}
	if diff := cmp.Diff(wantStored, stored[0]); diff != "" {
		t.Error("Intervals:", diff)
	}
	if got, want := stored[0].Coverage(schema.CreditStall), snap.Coverage(schema.CreditStall); got != want {
		t.Errorf("Coverage = %v, want %v", got, want)
	}
	got, err := db.Snapshot(ctx, "bw", 2*minute)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asStored(snap), got, tolerance); diff != "" {
		t.Error("Snapshot:", diff)
	}
	var links uint64
	var sum float64
	err = db.conn.QueryRow(ctx, "SELECT count(), sum(value) FROM link_values WHERE fabric = 'bw' AND metric = 'inq_stall' AND time = toDateTime64(120, 3)").Scan(&links, &sum)
	wantSum := 0.0
	for _, v := range asStored(snap).Series[1].Values {
		wantSum += float64(v)
	}
	if err != nil || int(links) != snap.Series[1].Count || math.Abs(sum-wantSum) > 0.001 {
		t.Errorf("link_values has %d links of sum %v, want %d of %v; %v", links, sum, snap.Series[1].Count, wantSum, err)
	}
	got, err = db.LatestSnapshot(ctx, "bw", schema.Throughput)
	if err != nil || len(got.Series) != 1 || got.Interval.StartNanos != 3*minute || got.Series[0].Count == 0 {
		t.Errorf("LatestSnapshot = %+v, %v", got, err)
	}
	regions, err := db.Regions(ctx, "bw", span)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]RegionAt{{2 * minute, want.Regions[0]}, {2 * minute, want.Regions[1]}}, regions); diff != "" {
		t.Error("Regions:", diff)
	}
	history, err := db.RegionHistory(ctx, "bw", 1<<63+5)
	if err != nil || len(history) != 3 || history[2].AgeIntervals != 3 {
		t.Errorf("RegionHistory = %+v, %v", history, err)
	}
	events, err := db.Events(ctx, "bw", span)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Events, events); diff != "" {
		t.Error("Events:", diff)
	}
	if events, err = db.Events(ctx, "bw", Span{0, 9 * minute}, schema.LinkFailed, schema.NodeFailed); err != nil || len(events) != 3 {
		t.Errorf("Events of two kinds = %+v, %v", events, err)
	}
	var readings [][2]any
	rows, err := db.conn.Query(ctx, "SELECT counter || ' of ' || device || '/' || port, value FROM counter_readings WHERE interval_start = toDateTime64(120, 3) ORDER BY ALL")
	for err == nil && rows.Next() {
		var name string
		var value uint64
		err = rows.Scan(&name, &value)
		readings = append(readings, [2]any{name, value})
	}
	wantReadings := [][2]any{{"ib.symbol_error of a/1", uint64(1)}, {"ib.symbol_error of b/2", uint64(2)}, {"new.thing of b/2", uint64(1 << 63)}}
	if diff := cmp.Diff(wantReadings, readings); err != nil || diff != "" {
		t.Error("counter_readings:", err, diff)
	}
	states, err := db.NetworkStates(ctx, "bw", span)
	if err != nil {
		t.Fatal(err)
	}
	tracked, err := db.TrackingAt(ctx, "bw", 2*minute)
	if diff := cmp.Diff(Tracking{Network: want.Network, Congestion: want.Congestion, Hot: want.Hot}, tracked); err != nil || diff != "" {
		t.Error("TrackingAt:", err, diff)
	}
	if diff := cmp.Diff([]StateAt{{2 * minute, want.States[0]}, {2 * minute, want.States[1]}}, states, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Error("NetworkStates:", diff)
	}
}

func TestQueriesOfWhatIsNotThere(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	if _, err := db.LastStored(ctx, "bw"); !isNotFound(err) {
		t.Errorf("LastStored: %v", err)
	}
	if _, err := db.Snapshot(ctx, "bw", minute); !isNotFound(err) {
		t.Errorf("Snapshot: %v", err)
	}
	if _, err := db.TrackingAt(ctx, "bw", minute); !isNotFound(err) {
		t.Errorf("TrackingAt: %v", err)
	}
	if _, err := db.LastStates(ctx, "bw", minute); !isNotFound(err) {
		t.Errorf("LastStates: %v", err)
	}
	if _, err := db.LatestGraph(ctx, "bw"); !isNotFound(err) {
		t.Errorf("LatestGraph: %v", err)
	}
	if regions, err := db.Regions(ctx, "bw", Span{0, 9 * minute}); err != nil || len(regions) != 0 {
		t.Errorf("Regions = %v, %v", regions, err)
	}
}

// contents counts, for every table, rows and distinct keys of a fabric.
func contents(t *testing.T, db testDB, fabric string) map[string][2]uint64 {
	t.Helper()
	out := map[string][2]uint64{}
	for table, keys := range map[string]string{
		"link_samples": "metric, block, time, graph_version", "regions": "time, graph_version, rank", "network_states": "time, graph_version, metric",
		"events": "interval_start, graph_version, rank", "port_readings": "device, port, time", "intervals": "time, graph_version",
	} {
		var rows, distinct uint64
		query := fmt.Sprintf("SELECT count(), uniqExact(%s) FROM %s WHERE fabric = '%s'", keys, table, fabric)
		if err := db.conn.QueryRow(context.Background(), query).Scan(&rows, &distinct); err != nil {
			t.Fatal(err)
		}
		out[table] = [2]uint64{rows, distinct}
	}
	return out
}

// wantContents is what n intervals of someResult(_, _, 1000) leave behind.
func wantContents(n uint64) map[string][2]uint64 {
	out := map[string][2]uint64{}
	for table, perInterval := range map[string]uint64{"link_samples": 6, "regions": 2, "network_states": 2, "events": 2, "port_readings": 2, "intervals": 1} {
		out[table] = [2]uint64{n * perInterval, n * perInterval}
	}
	return out
}

func TestStoreTwiceIsOnce(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	again := openDB(t, db.opts, DefaultConfig())
	for _, n := range []int64{1, 2, 2, 1, 3} {
		for _, db := range []testDB{db, again} {
			if err := db.Store(ctx, someResult("bw", n, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(wantContents(3), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	if n := count(db.metrics.intervals.WithLabelValues(resultAlready)); n != 2 {
		t.Errorf("%v intervals were there already, want 2", n)
	}
}

// Tokens are forgotten in time; what an interrupted Store left must then be
// found by looking.
func TestStoreGoesOnWhereItWasCutOffWithoutTokens(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	for _, table := range tables {
		if err := db.conn.Exec(ctx, "ALTER TABLE "+table.name+" MODIFY SETTING non_replicated_deduplication_window = 0"); err != nil {
			t.Fatal(err)
		}
	}
	r := someResult("bw", 1, 1000)
	k := keyOf(r)
	for _, table := range tables[:3] {
		if err := db.insert(ctx, table.name, table.rowsOf(r, rowMeta{k, db.now()}, db.metrics), k, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.LastStored(ctx, "bw"); !isNotFound(err) {
		t.Errorf("half an interval is visible: %v", err)
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

func TestStoreInChunks(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	r := someResult("bw", 1, 1000)
	const ports = 130_000 // two counters of each, kept raw
	b := &schema.CounterBatch{Columns: []schema.CounterColumn{{Name: "x.a"}, {Name: "x.b"}}}
	for p := range uint32(ports) {
		b.Ports = append(b.Ports, schema.PortName{Device: fmt.Sprint(p), Port: "1"})
		b.PortIndex, b.TimeNanos = append(b.PortIndex, p), append(b.TimeNanos, minute)
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(p))
		}
	}
	r.Raw = []*schema.CounterBatch{b}
	k, readings := keyOf(r), tables[4]
	rows := readings.rowsOf(r, rowMeta{k, db.now()}, db.metrics)
	if err := db.insert(ctx, readings.name, rows.slice(0, rowsPerInsert), k, 99); err != nil {
		t.Fatal(err)
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, db, "bw")["port_readings"]; got != [2]uint64{ports, ports} {
		t.Errorf("port_readings has %v rows and distinct rows, want %d", got, ports)
	}
}

func TestStoreRefusesWhatNoTableCanHold(t *testing.T) {
	db := openDB(t, testOptionsNowhere(), DefaultConfig())
	for want, spoil := range map[string]func(*schema.IntervalResult){
		"no snapshot":        func(r *schema.IntervalResult) { r.Snapshot = nil },
		"named fabric":       func(r *schema.IntervalResult) { r.Snapshot.Fabric = "" },
		"whole milliseconds": func(r *schema.IntervalResult) { r.Snapshot.Interval.StartNanos++ },
		"each metric once":   func(r *schema.IntervalResult) { r.Snapshot.Series[1].Metric = r.Snapshot.Series[0].Metric },
		"values":             func(r *schema.IntervalResult) { r.Snapshot.Series[0].Values = nil },
		"validity bits":      func(r *schema.IntervalResult) { r.Snapshot.Series[0].Valid = nil },
		"port index 7":       func(r *schema.IntervalResult) { r.Raw[0].PortIndex[1] = 7 },
		"for 2 rows":         func(r *schema.IntervalResult) { r.Raw[0].Columns[0].Values = nil },
	} {
		r := someResult("bw", 1, 100)
		spoil(r)
		if err := db.Store(context.Background(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestValuesThatNoColumnHoldsAreMissingAndCounted(t *testing.T) {
	db := openDB(t, testOptionsNowhere(), DefaultConfig())
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	s := schema.Series{Metric: schema.CreditStall, Values: []float32{nan, inf, -1, 656, 655.35, 0, -0.001, 0.004, 12.345}, Valid: schema.Bitmap{1<<9 - 1}}
	var got []int
	for _, p := range encodePercents(&s, db.metrics) {
		if p == nil {
			got = append(got, -1)
		} else {
			got = append(got, int(*p))
		}
	}
	if diff := cmp.Diff([]int{-1, -1, -1, -1, 65535, 0, 0, 0, 1235}, got); diff != "" {
		t.Error(diff)
	}
	s = schema.Series{Metric: schema.Throughput, Values: []float32{nan, inf, math.MaxFloat32, 0, -3e9}, Valid: schema.Bitmap{1<<5 - 1}}
	for i, p := range encodeRates(&s, db.metrics) {
		if missing := p == nil; missing != (i < 3) {
			t.Errorf("rate %v: missing is %v", s.Values[i], missing)
		}
	}
	for reason, want := range map[string]float64{reasonNotFinite: 5, reasonOutOfRange: 2} {
		if n := count(db.metrics.valuesDropped.WithLabelValues(reason)); n != want {
			t.Errorf("%v values dropped as %s, want %v", n, reason, want)
		}
	}
}

// Nothing was measured: the interval is still stored, or a restart would ask
// for it for ever.
func TestStoreAnEmptyInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 600, Interval: schema.Interval{StartNanos: minute, DurationNanos: minute},
		Series: []schema.Series{{Metric: schema.InqStall, Values: make([]float32, 600), Valid: schema.NewBitmap(600)}}}
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
	got, err := db.LatestSnapshot(ctx, "bw")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(snap, got); diff != "" {
		t.Error(diff)
	}
	if series, err := db.LinkSeries(ctx, "bw", schema.InqStall, 7, Span{0, 9 * minute}); err != nil || len(series) != 0 {
		t.Errorf("a link without a value has the series %v, %v", series, err)
	}
	if top, err := db.TopLinks(ctx, "bw", schema.InqStall, Span{0, 9 * minute}, 3); err != nil || len(top) != 0 {
		t.Errorf("links without a value are ranked: %v, %v", top, err)
	}
	snap.Series, snap.Interval = nil, snap.Interval.Next()
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
}

// An interval in which the graph changed is stored once per version.
func TestStoreTwoVersionsOfAnInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	before, after := someResult("bw", 1, 1000), someResult("bw", 1, 1000)
	after.Snapshot.GraphVersion = 9
	for _, r := range []*schema.IntervalResult{before, after, before, after} {
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	want := wantContents(2)
	want["port_readings"] = [2]uint64{4, 2} // the key is the reading's
	if diff := cmp.Diff(want, contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	got, err := db.Snapshot(ctx, "bw", minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.GraphVersion != 9 {
		t.Errorf("got version %d, want the one stored later", got.GraphVersion)
	}
}

func TestNothingKeepsRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("store", func(t *testing.T) {
		db := migratedDB(t)
		if err := db.Store(context.Background(), someResult("bw", 1, 1000)); err != nil {
			t.Fatal(err)
		}
	})
}
