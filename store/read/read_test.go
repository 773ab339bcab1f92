//go:build engine || integration

package read

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// asStored returns a snapshot rounded to the documented precision.
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
	m, ctx := newModel(t), t.Context()
	for n := int64(1); n <= 3; n++ {
		m.store(t, someResult("bw", n, 1300))
	}
	want := someResult("bw", 2, 1300)
	snap, span := want.Snapshot, SpanOf(want.Snapshot.Interval)

	last, err := m.LastStored(ctx, "bw")
	if err != nil || last.StartNanos != 3*minute || last.DurationNanos != minute || last.GraphVersion != 1<<63+7 {
		t.Errorf("LastStored = %+v, %v", last, err)
	}
	if at, err := m.StoredAt(ctx, "bw", schema.Instant(3*minute-1)); err != nil || at.StartNanos != 2*minute {
		t.Errorf("StoredAt = %+v, %v", at, err)
	}
	stored, err := m.Intervals(ctx, "bw", span)
	if err != nil || len(stored) != 1 {
		t.Fatalf("Intervals = %+v, %v", stored, err)
	}
	wantStored := Stored{Interval: snap.Interval, GraphVersion: snap.GraphVersion, Links: 1300, Samples: 3900, Dropped: want.Dropped, Regions: 2, Events: 2,
		Measured:       map[schema.Metric]int{schema.CreditStall: snap.Series[0].Count, schema.InqStall: snap.Series[1].Count, schema.Throughput: snap.Series[2].Count},
		FirstReadNanos: snap.FirstReadNanos, LastReadNanos: snap.LastReadNanos, StoredAtNanos: stored[0].StoredAtNanos}
	if diff := cmp.Diff(wantStored, stored[0]); diff != "" {
		t.Error("Intervals:", diff)
	}
	if got, want := stored[0].Coverage(schema.CreditStall), snap.Coverage(schema.CreditStall); got != want {
		t.Errorf("Coverage = %v, want %v", got, want)
	}
	if got := stored[0].Latency().Nanoseconds(); got != stored[0].StoredAtNanos-snap.LastReadNanos {
		t.Errorf("Latency = %v", got)
	}
	got, err := m.Snapshot(ctx, "bw", stored[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asStored(snap), got, tolerance); diff != "" {
		t.Error("Snapshot:", diff)
	}
	got, err = m.Snapshot(ctx, "bw", last, schema.Throughput)
	if err != nil || len(got.Series) != 1 || got.Interval.StartNanos != 3*minute || got.Series[0].Count == 0 {
		t.Errorf("Snapshot of one metric = %+v, %v", got, err)
	}
	regions, err := m.Regions(ctx, "bw", span)
	if diff := cmp.Diff([]RegionAt{{schema.Instant(2 * minute), Version(snap.GraphVersion), want.Regions[0]}, {schema.Instant(2 * minute), Version(snap.GraphVersion), want.Regions[1]}}, regions); err != nil || diff != "" {
		t.Error("Regions:", err, diff)
	}
	events, err := m.Events(ctx, "bw", span)
	if diff := cmp.Diff(want.Events, events); err != nil || diff != "" {
		t.Error("Events:", err, diff)
	}
	if events, err = m.Events(ctx, "bw", minutes(0, 9), schema.LinkFailed, schema.NodeFailed); err != nil || len(events) != 3 {
		t.Errorf("Events of two kinds = %+v, %v", events, err)
	}
	network, err := m.Network(ctx, "bw", span)
	if diff := cmp.Diff([]NetworkAt{{Time: schema.Instant(2 * minute), Length: time.Minute, State: "High", Severity: schema.High, Low: 1, High: 1}}, network); err != nil || diff != "" {
		t.Error("Network:", err, diff)
	}
	results, err := m.Results(ctx, "bw", minutes(2, 9))
	if err != nil || len(results) != 2 || len(results[0].Snapshot.Series) != 3 || results[1].Snapshot.Interval.StartNanos != 3*minute {
		t.Errorf("Results: %+v, %v", results, err)
	} else if diff := cmp.Diff(want.Regions, results[0].Regions); diff != "" {
		t.Error("Results:", diff)
	}
	found, err := m.Found(ctx, "bw", minutes(2, 9))
	if err != nil || len(found) != 2 || len(found[0].Snapshot.Series) != 0 {
		t.Errorf("Found: %+v, %v", found, err)
	}
	for i := range results {
		results[i].Snapshot.Series = nil
	}
	if diff := cmp.Diff(results, found); diff != "" {
		t.Error("Found:", diff)
	}
	result, err := m.Result(ctx, "bw", stored[0])
	want.Snapshot, want.Events, want.Dropped = asStored(snap), nil, nil
	want.Snapshot.Series = want.Snapshot.Series[:2]
	if diff := cmp.Diff(want, result, cmpopts.EquateApprox(1e-4, 0)); err != nil || diff != "" {
		t.Error("Result:", err, diff)
	}
}

func TestRegionHistoryBeginsAtItsBirth(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	for n := int64(0); n <= 3; n++ {
		m.store(t, someResult("bw", n, 10)) // one of minute 0 has an id that says it was born later
	}
	for _, c := range []struct {
		from, to float64
		want     []int
	}{{0, 9, []int{1, 2, 3}}, {1.5, 3, []int{2}}, {5, 9, nil}} {
		history, err := m.RegionHistory(ctx, "bw", someRegion, minutes(c.from, c.to))
		var ages []int
		for _, r := range history {
			ages = append(ages, r.Region.AgeIntervals)
		}
		if diff := cmp.Diff(c.want, ages); err != nil || diff != "" {
			t.Errorf("from %v to %v: %v %s", c.from, c.to, err, diff)
		}
	}
}

// Nothing was measured: the interval exists and is empty.
func TestAnEmptyInterval(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 600, Interval: schema.Interval{StartNanos: minute, DurationNanos: minute},
		Series: []schema.Series{{Metric: schema.InqStall, Values: make([]float32, 600), Valid: schema.NewBitmap(600)}}}
	m.store(t, &schema.IntervalResult{Snapshot: snap})
	last, err := m.LastStored(ctx, "bw")
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Snapshot(ctx, "bw", last)
	if diff := cmp.Diff(snap, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if series, err := m.Figures("bw", minutes(0, 9)).LinkSeries(ctx, 1, schema.InqStall, 7); err != nil || len(series) != 0 {
		t.Errorf("a link without a value has the series %v, %v", series, err)
	}
	if top, err := m.Figures("bw", minutes(0, 9)).TopLinks(ctx, 1, schema.InqStall, 3); err != nil || len(top) != 0 {
		t.Errorf("links without a value are ranked: %v, %v", top, err)
	}
}

// An interval that was stored under two versions of the graph counts once in every
// result, as last stored.
func TestTwoVersionsOfAnInterval(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	old, renewed := handDay(1), handDay(9)
	m.store(t, old...)
	m.store(t, renewed...)
	checkHandDay(t, m, 9)
	for _, version := range []uint64{1, 9} {
		top, err := m.Figures("bw", handSpan).TopLinks(ctx, version, stall, 9)
		if err != nil || len(top) > 0 != (version == 9) {
			t.Errorf("top links by version %d: %v, %v", version, top, err)
		}
	}
	stored, err := m.Intervals(ctx, "bw", handSpan)
	if err != nil || len(stored) != len(renewed) {
		t.Fatalf("%d intervals, %v", len(stored), err)
	}
	regions, err := m.Regions(ctx, "bw", handSpan)
	if err != nil || len(regions) != 8 {
		t.Errorf("%d regions, %v", len(regions), err)
	}
	for _, s := range stored {
		if s.GraphVersion != 9 {
			t.Errorf("%s is of version %d, want the one stored last", s.Interval, s.GraphVersion)
		}
	}
	if events, err := m.Events(ctx, "bw", handSpan); err != nil || len(events) != 4 {
		t.Errorf("events %v, %v", events, err)
	}
	if network, err := m.Network(ctx, "bw", minutes(8, 9)); err != nil || len(network) != 1 || network[0].High != 1 {
		t.Errorf("network %+v, %v", network, err)
	}
}

// A query that is too expensive says so, and what to do.
func TestLimits(t *testing.T) {
	m := newModel(t)
	_, err := rows[struct{ N uint64 }](t.Context(), m.Model, "network", scope{Args: inSpan("bw", minutes(0, 9))}, store.Question{Settings: map[string]any{"max_memory_usage": 1, "max_untracked_memory": 0}})
	if !errors.Is(err, ErrTooExpensive) || !strings.Contains(err.Error(), "shorter span") {
		t.Errorf("error %v", err)
	}
}

func TestQueriesOfWhatIsNotThere(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	if _, err := m.LastStored(ctx, "bw"); !isNotFound(err) {
		t.Errorf("LastStored: %v", err)
	}
	if _, err := m.Result(ctx, "bw", Stored{Interval: schema.Interval{StartNanos: minute}}); !isNotFound(err) {
		t.Errorf("Result: %v", err)
	}
	if _, err := m.LastStates(ctx, "bw", minute); !isNotFound(err) {
		t.Errorf("LastStates: %v", err)
	}
	if _, err := m.Graph(ctx, "bw", 1); !isNotFound(err) {
		t.Errorf("Graph: %v", err)
	}
	if regions, err := m.Regions(ctx, "bw", minutes(0, 9)); err != nil || len(regions) != 0 {
		t.Errorf("Regions = %v, %v", regions, err)
	}
}

func TestCongestionAsTheAnalysisFoundIt(t *testing.T) {
	m := newModel(t)
	for n := int64(1); n <= 4; n++ {
		r := someResult("bw", n, 10)
		if n == 3 {
			r.Congestion = nil
		}
		if n == 4 {
			r.Congestion = &schema.CongestionEvent{BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}
		}
		m.store(t, r)
	}
	got, err := m.Figures("bw", minutes(0, 9)).Congestion(t.Context())
	want := []schema.CongestionEvent{{BeginNanos: minute, EndNanos: 3 * minute, PeakMeanPercent: 29.5}, {BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Intervals stored before the migration for tracking are read without it.
func TestIntervalsFromBeforeTrackingAreRead(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	for _, statement := range []string{
		"INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, stored_at) VALUES ('bw', toDateTime64(60, 3), 1, 0, 'credit_stall', 5, 'High', 3, 30, now())",
		"INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, stored_at) VALUES ('bw', toDateTime64(60, 3), 1, 'credit_stall', 'High', [0, 0, 0, 1], now())",
		"INSERT INTO intervals (fabric, time, graph_version, duration_ms, links) VALUES ('bw', toDateTime64(60, 3), 1, 60000, 100)",
	} {
		if err := m.conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	last, err := m.LastStored(ctx, "bw")
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Result(ctx, "bw", last)
	if err != nil || len(r.Regions) != 1 || r.Regions[0].ID != 5 || r.Regions[0].Forecast != nil || r.Congestion != nil || r.Network.Severity != schema.High {
		t.Errorf("result %+v, %v", r, err)
	}
	if skill, err := m.Figures("bw", minutes(0, 9)).ForecastSkill(ctx); err != nil || skill != (schema.ForecastSkills{}) {
		t.Errorf("skill %+v, %v", skill, err)
	}
	if transitions, err := m.Figures("bw", minutes(0, 9)).RegionTransitions(ctx, stall); err != nil || transitions != (Transitions{}) {
		t.Errorf("transitions %v, %v", transitions, err)
	}
}
