//go:build engine || integration

package read

import (
	"errors"
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
		// From minute 0, with nothing known before: Low Low High, then ends.
		{1, 0, "LLH", 4},
		// Born in minute 4, gone in 6, back in 7.
		{2, 4, "MM.H", 3},
		// Born in minute 8 and still there at the end.
		{3, 8, "HH", 1},
	}
)

var handSpan = minutes(0, 10)

// handDay is that day, stored under a version of the graph.
func handDay(version uint64) (results []*schema.IntervalResult) {
	severities := map[byte]schema.Severity{'L': schema.Low, 'M': schema.Medium, 'H': schema.High}
	means := map[schema.Severity]float64{schema.Low: 10, schema.Medium: 20, schema.High: 30}
	for n := range 10 {
		snap := &schema.Snapshot{Fabric: "bw", GraphVersion: version, Links: 4, Interval: schema.Interval{StartNanos: int64(n) * minute, DurationNanos: minute}}
		s := schema.Series{Metric: stall, Values: make([]float32, 4), Valid: schema.NewBitmap(4)}
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
				r.Regions = append(r.Regions, schema.Region{Metric: stall, ID: h.id, Severity: severity, Size: h.size, Mean: means[severity], Max: 2 * means[severity]})
			}
		}
		r.States = schema.NetworkStates(snap, r.Regions)
		for _, second := range map[int][]int64{1: {0, 59}, 2: {30}, 9: {0}}[n] {
			r.Events = append(r.Events, schema.Event{Kind: schema.Throttled, TimeNanos: int64(n)*minute + second*1e9})
		}
		if n == 2 {
			r.Transitions = []schema.Transition{{Metric: stall, From: 1, To: 3}}
			r.Episodes = []schema.HotEpisode{{Metric: stall, ThresholdPercent: 30, Intervals: 3}}
		}
		results = append(results, r)
	}
	return results
}

func TestCharacterisationByHand(t *testing.T) {
	m := newModel(t)
	m.store(t, handDay(1)...)
	checkHandDay(t, m, 1)
}

func checkHandDay(t *testing.T, m testModel, version uint64) {
	t.Helper()
	ctx := t.Context()
	check := func(name string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	at := func(minutes float64) schema.Instant { return schema.Instant(minutes * float64(minute)) }

	episodes, err := m.Figures("bw", handSpan).HotEpisodes(ctx, stall)
	check("HotEpisodes", []HotDurations{{ThresholdPercent: 30, Episodes: 1, MedianSeconds: 120, P99Seconds: 120, P999Seconds: 120}}, episodes, err)

	sizes, err := m.Figures("bw", handSpan).RegionSizes(ctx, stall)
	check("RegionSizes", []Bucket{{schema.Low, 4, 2}, {schema.Medium, 2, 2}, {schema.High, 1, 2}, {schema.High, 2, 1}, {schema.High, 4, 1}}, sizes, err)

	// Region 1 lives 3 minutes, 2 lives 4 with its gap, 3 lives 2; all reach High.
	durations, err := m.Figures("bw", handSpan).RegionDurations(ctx, stall)
	check("RegionDurations", []Bucket{{schema.High, 2, 2}, {schema.High, 4, 1}}, durations, err)

	transitions, err := m.Figures("bw", handSpan).RegionTransitions(ctx, stall)
	check("RegionTransitions", Transitions{schema.Low: {schema.High: 1}}, transitions, err)

	// L L H - M M - H H H
	for _, metric := range []schema.Metric{stall, schema.NoMetric} {
		network, err := m.Figures("bw", handSpan).NetworkTransitions(ctx, metric)
		check("NetworkTransitions", Transitions{
			schema.Negligible: {schema.Medium: 1, schema.High: 1},
			schema.Low:        {schema.Low: 1, schema.High: 1},
			schema.Medium:     {schema.Medium: 1, schema.Negligible: 1},
			schema.High:       {schema.High: 2, schema.Negligible: 1},
		}, network, err)
		if p := network.Probability(schema.RegionState(schema.High), schema.RegionState(schema.Negligible)); p != 1.0/3 {
			t.Errorf("High to Neg: %v", p)
		}
	}

	share, err := m.Figures("bw", handSpan).LinkTime(ctx, stall)
	check("LinkTime", &[4]float64{1 - 23./39, 8. / 39, 6. / 39, 9. / 39}, share, err) // one link was not measured in one minute

	mitigations, err := m.Figures("bw", handSpan).Mitigations(ctx, MitigationWindow)
	check("Mitigations", []Mitigation{{at(1), at(2.5), 3, nil}, {at(9), at(9), 1, nil}}, mitigations, err)

	series, err := m.Figures("bw", minutes(5, 8)).LinkSeries(ctx, version, stall, 1)
	check("LinkSeries", []Point{{at(5), 30}, {at(7), 30}}, series, err)

	top, err := m.Figures("bw", handSpan).TopLinks(ctx, version, stall, 3)
	check("TopLinks", []LinkRank{{0, 15.5, 40}, {1, 10, 30}, {2, 2.999, 29.99}}, top, err)
}

// If the length of the intervals changes, those that follow each other without a
// gap make a transition, and others do not.
func TestIntervalsOfTwoLengths(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	for _, i := range []struct {
		startSeconds, seconds int64
		mean                  float64 // of its only region
	}{
		{0, 60, 10}, {60, 60, 20}, // Low to Medium
		{120, 10, 30}, // to High
		// a gap of 10 s
		{140, 10, 10}, {150, 10, 10}, // Low to Low
	} {
		snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 10, Interval: schema.Interval{StartNanos: i.startSeconds * 1e9, DurationNanos: i.seconds * 1e9},
			Series: []schema.Series{{Metric: stall, Values: make([]float32, 10), Valid: schema.NewBitmap(10), Count: 10}}}
		r := &schema.IntervalResult{Snapshot: snap, Regions: []schema.Region{{Metric: stall, ID: 1, Size: 5, Mean: i.mean, Severity: schema.SeverityOf(i.mean),
			Forecast: &schema.Forecast{Next: schema.Odds{0, .5, .3, .2}}}}}
		r.States = schema.NetworkStates(snap, r.Regions)
		m.store(t, r)
	}
	got, err := m.Figures("bw", handSpan).NetworkTransitions(ctx, stall)
	want := Transitions{schema.Low: {schema.Medium: 1, schema.Low: 1}, schema.Medium: {schema.High: 1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error("NetworkTransitions:", err, diff)
	}
	skill, err := m.Figures("bw", handSpan).ForecastSkill(ctx)
	if err != nil || skill.Next.Forecasts != 3 {
		t.Errorf("ForecastSkill: %+v, %v", skill, err)
	}
	share, err := m.Figures("bw", handSpan).LinkTime(ctx, stall)
	if diff := cmp.Diff(&[4]float64{.5, 80. / 300, 60. / 300, 10. / 300}, share, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
		t.Error("LinkTime:", err, diff)
	}
	durations, err := m.Figures("bw", handSpan).RegionDurations(ctx, stall)
	if diff := cmp.Diff([]Bucket{{schema.High, 2, 1}}, durations); err != nil || diff != "" { // 160 s
		t.Error("RegionDurations:", err, diff)
	}
}

func TestCharacterisationOfNothing(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	episodes, err1 := m.Figures("bw", handSpan).HotEpisodes(ctx, stall)
	sizes, err2 := m.Figures("bw", handSpan).RegionSizes(ctx, stall)
	durations, err3 := m.Figures("bw", handSpan).RegionDurations(ctx, stall)
	transitions, err4 := m.Figures("bw", handSpan).RegionTransitions(ctx, stall)
	network, err5 := m.Figures("bw", handSpan).NetworkTransitions(ctx, stall)
	share, err6 := m.Figures("bw", handSpan).LinkTime(ctx, stall)
	mitigations, err7 := m.Figures("bw", handSpan).Mitigations(ctx, time.Minute)
	states, err8 := m.Network(ctx, "bw", handSpan)
	accused, err9 := m.Figures("bw", handSpan).AccusedJobs(ctx, 5)
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9} {
		if err != nil {
			t.Errorf("question %d: %v", i+1, err)
		}
	}
	if len(episodes)+len(sizes)+len(durations)+len(mitigations)+len(states)+len(accused) > 0 || transitions != (Transitions{}) || network != (Transitions{}) || share != nil {
		t.Error("an empty store has something to say")
	}
}

// Rows of intervals are kept longer than their results: missing results do not mean calm.
func TestIntervalsOfWhichOnlyTheRowIsKept(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	day := handDay(1)
	day[9].Network.Unknown = &schema.Unknown{Reason: schema.LowCoverage}
	m.store(t, day...)
	for _, table := range []string{"network_states", "regions"} {
		if err := m.conn.Exec(ctx, "TRUNCATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	states, err1 := m.Figures("bw", handSpan).NetworkTime(ctx)
	share, err2 := m.Figures("bw", handSpan).LinkTime(ctx, stall)
	at, err3 := m.Network(ctx, "bw", handSpan)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if want := (NetworkTime{Unknown: 1}); states != want || share != nil || len(at) != 1 || at[0].Unknown != schema.LowCoverage {
		t.Errorf("the network's time %+v, link time %v, states %+v", states, share, at)
	}
}
