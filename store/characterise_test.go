package store

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
)

// A day small enough to check by hand: four links, minutes 0 to 9, one metric.
var (
	missing    = float32(math.NaN())
	handLinks  = [4][10]float32{0: {40, 40, 40, 0, 0, 35, 0, 0, 0, 0}, 1: {0, 0, 0, 0, 30, 30, missing, 30, 0, 0}, 2: {29.99}}
	handRegion = []struct {
		id       uint64
		first    int // minute
		severity string
		size     int
	}{
		// From minute 0, where nothing is known of before: Low Low High, then ends.
		{1, 0, "LLH", 4},
		// Born in minute 4, gone in 6, back in 7.
		{2, 4, "MM.H", 3},
		// Born in minute 8 and still there at the end.
		{3, 8, "HH", 1},
	}
)

var handSpan = Span{0, 10 * minute}

func handDB(t *testing.T) testDB {
	t.Helper()
	db := migratedDB(t)
	severities := map[byte]schema.Severity{'L': schema.Low, 'M': schema.Medium, 'H': schema.High}
	means := map[schema.Severity]float64{schema.Low: 10, schema.Medium: 20, schema.High: 30}
	for n := range 10 {
		snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 4, Interval: schema.Interval{StartNanos: int64(n) * minute, DurationNanos: minute}}
		s := schema.Series{Metric: schema.CreditStall, Values: make([]float32, 4), Valid: schema.NewBitmap(4)}
		for link, values := range handLinks {
			if v := values[n]; v == v {
				s.Values[link] = v
				s.Valid.Set(link)
				s.Count++
			}
		}
		snap.Series = []schema.Series{s}
		r := &schema.IntervalResult{Snapshot: snap}
		for _, h := range handRegion {
			if i := n - h.first; i >= 0 && i < len(h.severity) && h.severity[i] != '.' {
				severity := severities[h.severity[i]]
				r.Regions = append(r.Regions, schema.Region{Metric: schema.CreditStall, ID: h.id, Severity: severity, Size: h.size, Mean: means[severity], Max: 2 * means[severity]})
			}
		}
		r.States = schema.NetworkStates(snap, r.Regions)
		for _, second := range map[int][]int64{1: {0, 59}, 2: {30}, 9: {0}}[n] {
			r.Events = append(r.Events, schema.Event{Kind: schema.Throttled, TimeNanos: int64(n)*minute + second*1e9})
		}
		if err := db.Store(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestCharacterisationByHand(t *testing.T) {
	db, ctx := handDB(t), t.Context()
	check := func(name string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	m, at := schema.CreditStall, func(from, to float64) Span { return Span{int64(from * 60e9), int64(to * 60e9)} }

	// At 30%: link 0 for 2 minutes and once, link 1 for 1 minute and, after a
	// minute without a value, once.
	hotspots, err := db.HotspotDurations(ctx, "bw", m, handSpan, []float64{36, 30})
	check("HotspotDurations", []HotspotDurations{
		{ThresholdPercent: 30, Hotspots: 4, Median: time.Minute, P99: 2 * time.Minute, P99_9: 2 * time.Minute},
		{ThresholdPercent: 36, Hotspots: 1, Median: 2 * time.Minute, P99: 2 * time.Minute, P99_9: 2 * time.Minute},
	}, hotspots, err)

	sizes, err := db.RegionSizes(ctx, "bw", m, handSpan)
	check("RegionSizes", []Bucket{{schema.Low, 4, 2}, {schema.Medium, 2, 2}, {schema.High, 1, 2}, {schema.High, 2, 1}, {schema.High, 4, 1}}, sizes, err)

	// Region 1 lives 3 minutes, 2 lives 4 with its gap, 3 lives 2; all reach High.
	durations, err := db.RegionDurations(ctx, "bw", m, handSpan)
	check("RegionDurations", []Bucket{{schema.High, 2, 2}, {schema.High, 4, 1}}, durations, err)

	transitions, err := db.RegionTransitions(ctx, "bw", m, handSpan)
	check("RegionTransitions", Transitions{
		schema.Negligible: {schema.Medium: 1, schema.High: 2}, // births of 2 and 3, return of 2
		schema.Low:        {schema.Low: 1, schema.High: 1},
		schema.Medium:     {schema.Medium: 1, schema.Negligible: 1},
		schema.High:       {schema.High: 1, schema.Negligible: 2},
	}, transitions, err)
	if p := transitions.Probability(schema.High, schema.Negligible); p != 2.0/3 {
		t.Errorf("High to Neg: %v", p)
	}

	// L L H - M M - H H H
	network, err := db.NetworkTransitions(ctx, "bw", []schema.Metric{m}, handSpan)
	check("NetworkTransitions", Transitions{
		schema.Negligible: {schema.Medium: 1, schema.High: 1},
		schema.Low:        {schema.Low: 1, schema.High: 1},
		schema.Medium:     {schema.Medium: 1, schema.Negligible: 1},
		schema.High:       {schema.High: 2, schema.Negligible: 1},
	}, network, err)

	share, err := db.LinkTime(ctx, "bw", m, handSpan)
	check("LinkTime", [4]float64{1 - 23./40, 8. / 40, 6. / 40, 9. / 40}, share, err)

	// High in minutes 2, 7, 8, 9. Region 1 in minute 2 and regions 2 and 3 in
	// minutes 7 to 9; in between region 2 is Medium in minutes 4 and 5.
	separate, err := db.CongestionEvents(ctx, "bw", []schema.Metric{m}, handSpan, 4*time.Minute)
	check("CongestionEvents, 4 minutes", []CongestionEvent{
		{at(2, 3), 1, map[schema.Metric]float64{m: 30}, map[schema.Metric]float64{m: 60}},
		{at(7, 10), 3, map[schema.Metric]float64{m: 30}, map[schema.Metric]float64{m: 60}},
	}, separate, err)
	joined, err := db.CongestionEvents(ctx, "bw", []schema.Metric{m}, handSpan, 5*time.Minute)
	check("CongestionEvents, 5 minutes", []CongestionEvent{
		{at(2, 10), 6, map[schema.Metric]float64{m: 160. / 6}, map[schema.Metric]float64{m: 60}},
	}, joined, err)

	mitigations, err := db.Mitigations(ctx, "bw", handSpan, 210*time.Second)
	check("Mitigations", []Mitigation{{at(1, 2.5), 3}, {at(9, 9), 1}}, mitigations, err)

	series, err := db.LinkSeries(ctx, "bw", m, 1, at(5, 8))
	check("LinkSeries", []Point{{5 * minute, 30}, {7 * minute, 30}}, series, err)

	top, err := db.TopLinks(ctx, "bw", m, handSpan, 3)
	check("TopLinks", []LinkRank{{0, 15.5, 40}, {1, 10, 30}, {2, 2.999, 29.99}}, top, err)
}

func TestCharacterisationOfNothing(t *testing.T) {
	db, ctx, m := migratedDB(t), t.Context(), schema.CreditStall
	hotspots, err1 := db.HotspotDurations(ctx, "bw", m, handSpan, []float64{30})
	sizes, err2 := db.RegionSizes(ctx, "bw", m, handSpan)
	durations, err3 := db.RegionDurations(ctx, "bw", m, handSpan)
	transitions, err4 := db.RegionTransitions(ctx, "bw", m, handSpan)
	network, err5 := db.NetworkTransitions(ctx, "bw", []schema.Metric{m}, handSpan)
	share, err6 := db.LinkTime(ctx, "bw", m, handSpan)
	events, err7 := db.CongestionEvents(ctx, "bw", []schema.Metric{m}, handSpan, time.Minute)
	mitigations, err8 := db.Mitigations(ctx, "bw", handSpan, time.Minute)
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
		if err != nil {
			t.Errorf("question %d: %v", i+1, err)
		}
	}
	if len(hotspots)+len(sizes)+len(durations)+len(events)+len(mitigations) > 0 || transitions != (Transitions{}) || network != (Transitions{}) || share != [4]float64{1} {
		t.Error("an empty store has something to say")
	}
}
