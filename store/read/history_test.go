//go:build engine || integration

package read

import (
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/storetest"
)

// Intervals of the history are ten minutes long, so that a few of them are hours.
const (
	historyIntervals = 27
	historyStep      = 10 * minute
	historyFirst     = 6000 // of the intervals since 1970
)

// history holds the last stored result of each interval, by start: the naive computation
// reads it front to back.
type history map[int64]*schema.IntervalResult

func (h history) in(span Span) (held []*schema.IntervalResult) {
	for start, r := range h {
		if start >= int64(span.From) && start < int64(span.To) {
			held = append(held, r)
		}
	}
	slices.SortFunc(held, func(a, b *schema.IntervalResult) int {
		return cmp.Compare(a.Snapshot.Interval.StartNanos, b.Snapshot.Interval.StartNanos)
	})
	return held
}

func (h history) networkTime(span Span) (t NetworkTime) {
	for _, r := range h.in(span) {
		if r.Network.Unknown != nil || r.Snapshot.Series[0].Count == 0 {
			t.Unknown++
			continue
		}
		s := r.States[0].Severity
		t.Intervals[s]++
		t.Time[s] += time.Duration(historyStep)
	}
	return t
}

func (h history) networkTransitions(span Span) (t Transitions) {
	held := slices.DeleteFunc(h.in(span), func(r *schema.IntervalResult) bool { return r.Network.Unknown != nil })
	for i := 1; i < len(held); i++ {
		if held[i].Snapshot.Interval.StartNanos-held[i-1].Snapshot.Interval.StartNanos == historyStep {
			t[held[i-1].States[0].Severity][held[i].States[0].Severity]++
		}
	}
	return t
}

// spreadOf takes quantiles as quantileExactLow does, and quantileExactWeighted.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[max(0, int(math.Ceil(q*float64(len(values))))-1)] }
	return Spread{len(values), at(.5), at(.99), values[len(values)-1]}
}

func (h history) sizes(span Span) (sizes, lives SeveritySpreads, means Spread, linkTime *[4]float64) {
	var bySize, byLife [4][]float64
	var allMeans []float64
	type life struct {
		worst       schema.Severity
		first, last int64
	}
	lifes, all, spent := map[uint64]*life{}, 0, [4]float64{}
	for _, r := range h.in(span) {
		start := r.Snapshot.Interval.StartNanos
		all += r.Snapshot.Series[0].Count
		for _, g := range r.Regions {
			bySize[g.Severity] = append(bySize[g.Severity], float64(g.Size))
			if g.Severity > schema.Negligible {
				allMeans = append(allMeans, math.Round(g.Mean*10)/10)
				spent[g.Severity] += float64(g.Size)
			}
			if lifes[g.ID] == nil {
				lifes[g.ID] = &life{first: start}
			}
			l := lifes[g.ID]
			l.worst, l.last = max(l.worst, g.Severity), start
		}
	}
	for _, l := range lifes {
		byLife[l.worst] = append(byLife[l.worst], float64(l.last-l.first+historyStep)/float64(minute))
	}
	for s := range bySize {
		sizes[s], lives[s] = spreadOf(bySize[s]), spreadOf(byLife[s])
		spent[s] /= max(1, float64(all))
	}
	spent[0] = 1 - spent[1] - spent[2] - spent[3]
	if all > 0 {
		linkTime = &spent
	}
	return sizes, lives, spreadOf(allMeans), linkTime
}

func (h history) skill(span Span, ahead int) (s schema.ForecastSkill) {
	for _, r := range h.in(span) {
		start, whole := r.Snapshot.Interval.StartNanos, true
		for i := range ahead {
			at := start + int64(i+1)*historyStep
			whole = whole && h[at] != nil && at < int64(span.To)
		}
		for i := range r.Regions {
			g := &r.Regions[i]
			if !whole || g.Forecast == nil {
				continue
			}
			became := schema.Gone
			for _, later := range h[start+int64(ahead)*historyStep].Regions {
				if later.ID == g.ID {
					became = schema.RegionState(later.Severity)
				}
			}
			addForecast(&s, g.Forecast, ahead, schema.RegionState(g.Severity), became)
		}
	}
	return meanSkill(s)
}

func (h history) congestion(span Span) (events []schema.CongestionEvent, peaks []Peak) {
	sums := map[int64][2]float64{}
	for _, r := range h.in(span) {
		c := r.Congestion
		if c == nil {
			continue
		}
		if n := len(events); n == 0 || events[n-1].BeginNanos != c.BeginNanos {
			events = append(events, *c)
		}
		e := &events[len(events)-1]
		e.EndNanos, e.PeakMeanPercent = max(e.EndNanos, c.EndNanos), max(e.PeakMeanPercent, c.PeakMeanPercent)
		for _, g := range r.Regions {
			if r.Snapshot.Interval.StartNanos >= c.EndNanos {
				continue
			}
			if n := len(peaks); n == 0 || int64(peaks[n-1].Begin) != c.BeginNanos {
				peaks = append(peaks, Peak{Begin: schema.Instant(c.BeginNanos)})
			}
			s := sums[c.BeginNanos]
			s[0], s[1] = s[0]+g.Mean, s[1]+1
			sums[c.BeginNanos] = s
			peaks[len(peaks)-1].Highest = max(peaks[len(peaks)-1].Highest, g.Mean)
		}
	}
	for i := range peaks {
		s := sums[int64(peaks[i].Begin)]
		peaks[i].Mean = s[0] / s[1]
	}
	return events, peaks
}

// linkHistory computes a link's history, by whole steps.
func (h history) linkHistory(span Span, link int, step int64) (steps []LinkStep) {
	for _, r := range h.in(span) {
		s := &r.Snapshot.Series[0]
		if !s.Valid.Has(link) {
			continue
		}
		begin := r.Snapshot.Interval.StartNanos / step * step
		if n := len(steps); n == 0 || int64(steps[n-1].Begin) != begin {
			steps = append(steps, LinkStep{Begin: schema.Instant(begin), Max: math.Inf(-1)})
		}
		at, v := &steps[len(steps)-1], float64(s.Values[link])
		at.Mean = (at.Mean*float64(at.Intervals) + v) / float64(at.Intervals+1)
		at.Intervals, at.Max = at.Intervals+1, max(at.Max, v)
	}
	return steps
}

// topLinks returns the n links with the highest means.
func (h history) topLinks(span Span, n int) (ranks []LinkRank) {
	held := h.in(span)
	if len(held) == 0 {
		return nil
	}
	for link := range held[0].Snapshot.Links {
		rank, seen := LinkRank{Link: schema.LinkID(link)}, 0
		for _, r := range held {
			if s := &r.Snapshot.Series[0]; s.Valid.Has(link) {
				rank.Mean, rank.Max, seen = rank.Mean+float64(s.Values[link]), max(rank.Max, float64(s.Values[link])), seen+1
			}
		}
		if seen > 0 {
			rank.Mean /= float64(seen)
			ranks = append(ranks, rank)
		}
	}
	slices.SortFunc(ranks, func(a, b LinkRank) int { return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Link, b.Link)) })
	return ranks[:min(n, len(ranks))]
}

// drawInterval draws the n-th interval of a fabric, different each time.
func drawInterval(rt *rapid.T, fabric string, n, links int, revision uint32) *schema.IntervalResult {
	start := int64(historyFirst+n) * historyStep
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1, Links: links, Interval: schema.Interval{StartNanos: start, DurationNanos: historyStep}}
	snap.Series = []schema.Series{drawSeries(rt, n, links, 7)}
	r := &schema.IntervalResult{Snapshot: snap, Revision: revision}
	for id := uint64(1); id <= 3; id++ {
		if mean := rapid.IntRange(-20, 40).Draw(rt, "mean"); mean >= 0 {
			r.Regions = append(r.Regions, schema.Region{Metric: stall, ID: id, Size: 1 + mean%4, Links: []schema.LinkID{schema.LinkID(id)}, Mean: float64(mean), Max: 2 * float64(mean),
				Severity: schema.SeverityOf(float64(mean)), Forecast: rapid.SampledFrom(twinForecasts).Draw(rt, "forecast")})
		}
	}
	r.States = schema.NetworkStates(snap, r.Regions)
	switch rapid.IntRange(0, 4).Draw(rt, "extra") {
	case 0:
		r.Network.Unknown = &schema.Unknown{Reason: schema.LowCoverage, Since: schema.Instant(start)}
	case 1, 2:
		r.Congestion = &schema.CongestionEvent{BeginNanos: start / (5 * historyStep) * 5 * historyStep, EndNanos: start + historyStep*int64(rapid.IntRange(0, 1).Draw(rt, "on")), PeakMeanPercent: float64(n)}
	}
	return r
}

// Whatever is rolled up, when, and stored again since: every result equals the naive one.
func TestHistoryAgreesWithTheNaiveComputation(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	if err := checks.Set("1"); err != nil { // one takes half a minute; every run draws a different one
		t.Fatal(err)
	}
	defer func() { _ = checks.Set(was) }()
	m, fabrics, rolled := newModel(t), 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		fabrics++
		fabric, links := fmt.Sprintf("fabric %d", fabrics), rapid.SampledFrom([]int{5, 515}).Draw(rt, "links")
		h, jobs := history{}, historyJobs{}
		if err := m.db.StoreGraph(rt.Context(), ringGraph(fabric, links)); err != nil {
			rt.Fatal(err)
		}
		store := func(n int, revision uint32) {
			r := drawInterval(rt, fabric, n, links, revision)
			r.Jobs = []schema.Job{drawJob(rt, fabric, len(jobs), links)}
			jobs = append(jobs, r.Jobs...)
			m.store(t, r)
			h[r.Snapshot.Interval.StartNanos] = r
		}
		rollUp := func() {
			made, err := m.db.RollUp(rt.Context(), fabric, 0)
			if err != nil {
				rt.Fatal(err)
			}
			rolled += made
		}
		for n := range historyIntervals {
			if rapid.IntRange(0, 9).Draw(rt, "stored") > 0 {
				store(n, 0)
			}
			if n == 2*historyIntervals/3 {
				rollUp()
			}
		}
		rollUp()
		for i := range rapid.IntRange(0, 3).Draw(rt, "revised") {
			store(rapid.IntRange(0, historyIntervals-1).Draw(rt, "again"), uint32(i+1))
			if rapid.Bool().Draw(rt, "roll up again") {
				rollUp()
			}
		}
		for range 2 {
			from, to := rapid.IntRange(0, 6).Draw(rt, "from"), rapid.IntRange(8, historyIntervals+2).Draw(rt, "to")
			checkHistory(rt, m, h, jobs, fabric, Span{schema.Instant(int64(historyFirst+from) * historyStep), schema.Instant(int64(historyFirst+to) * historyStep)})
		}
	})
	if rolled == 0 {
		t.Error("nothing was rolled up")
	}
}

// After store.keep_minutes the history of a link goes on by hours, also over a short span.
func TestLinkHistoryAfterItsMinutesHaveExpired(t *testing.T) {
	m := newModel(t)
	for n := int64(0); n <= 200; n += 10 {
		m.store(t, someResult("bw", n, 10))
	}
	if made, err := m.db.RollUp(t.Context(), "bw", 0); made != 2 || err != nil {
		t.Fatalf("%d hours are rolled up, %v", made, err)
	}
	version := storetest.Result("bw", someRegion, 0, 10).Snapshot.GraphVersion
	history := func(want Step) (intervals int) {
		t.Helper()
		steps, step, err := m.Figures("bw", minutes(0, 60)).FinestLinkHistory(t.Context(), version, stall, 1)
		if err != nil || step != want {
			t.Errorf("steps of %v, want %v; %v", time.Duration(step), time.Duration(want), err)
		}
		for _, s := range steps {
			intervals += s.Intervals
		}
		return intervals
	}
	all := history(ByMinutes)
	for _, table := range []string{"link_samples", "link_minutes"} {
		if err := m.conn.Exec(t.Context(), "TRUNCATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	if left := history(ByHours); all == 0 || left != all {
		t.Errorf("%d measured intervals by minutes, %d by hours", all, left)
	}
}

// After store.keep_regions the counts of a span remain, those of its last hour too, also if nothing was stored after it.
func TestCountsAfterTheirRowsHaveExpired(t *testing.T) {
	m := newModel(t)
	for n := int64(0); n <= 230; n += 10 {
		m.store(t, someResult("bw", n, 10))
	}
	cfg := store.DefaultConfig()
	after := func(d time.Duration) *store.DB {
		db, err := store.New(shared.Options(store.DefaultDatabase), cfg, store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: func() time.Time { return time.Now().Add(d) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	for _, c := range []struct {
		db   *store.DB
		made int
	}{{m.db, 2}, {m.db, 0}, {after(4 * time.Hour), 2}} {
		if made, err := c.db.RollUp(t.Context(), "bw", 0); made != c.made || err != nil {
			t.Fatalf("%d hours are rolled up, want %d; %v", made, c.made, err)
		}
	}
	spans := []Span{minutes(0, 120), minutes(0, 240), minutes(60, 300)}
	sizes := func(of *store.DB) (all []SeveritySpreads) {
		t.Helper()
		for _, span := range spans {
			spread, err := New(of).Figures("bw", span).SizeSpread(t.Context(), stall)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, spread)
		}
		return all
	}
	want := sizes(m.db)
	for _, table := range []string{"regions", "network_states"} {
		if err := m.conn.Exec(t.Context(), "TRUNCATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(want, sizes(after(cfg.Retention.Regions))); diff != "" {
		t.Error(diff)
	}
}

func checkHistory(rt *rapid.T, m testModel, h history, jobs historyJobs, fabric string, span Span) {
	ctx := rt.Context()
	check := func(name string, want, got any, err error) {
		if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty()); err != nil || diff != "" {
			rt.Errorf("%s in %v: %v %s", name, span, err, diff)
		}
	}
	sizes, lives, means, linkTime := h.sizes(span)
	gotSizes, err := m.Figures(fabric, span).SizeSpread(ctx, stall)
	check("SizeSpread", sizes, gotSizes, err)
	gotLives, err := m.Figures(fabric, span).DurationSpread(ctx, stall)
	check("DurationSpread", lives, gotLives, err)
	gotMeans, err := m.Figures(fabric, span).MeanSpread(ctx, stall)
	check("MeanSpread", means, gotMeans, err)
	gotTime, err := m.Figures(fabric, span).LinkTime(ctx, stall)
	check("LinkTime", linkTime, gotTime, err)
	network, err := m.Figures(fabric, span).NetworkTime(ctx)
	check("NetworkTime", h.networkTime(span), network, err)
	transitions, err := m.Figures(fabric, span).NetworkTransitions(ctx, stall)
	check("NetworkTransitions", h.networkTransitions(span), transitions, err)
	skills, err := m.Figures(fabric, span).ForecastSkill(ctx)
	check("ForecastSkill", schema.ForecastSkills{Next: h.skill(span, 1), Later: h.skill(span, schema.LaterIntervals)}, skills, err)
	events, peaks := h.congestion(span)
	gotEvents, err := m.Figures(fabric, span).Congestion(ctx)
	check("Congestion", events, gotEvents, err)
	gotPeaks, err := m.Figures(fabric, span).CongestionPeaks(ctx, stall)
	check("CongestionPeaks", peaks, gotPeaks, err)
	for _, step := range []Step{ByMinutes, ByHours} {
		steps, err := m.Figures(fabric, span).LinkHistory(ctx, 1, stall, 3, step)
		check("LinkHistory", h.linkHistory(span, 3, int64(step)), steps, err)
	}
	exposures, err := m.Figures(fabric, span).JobExposures(ctx, stall)
	check("JobExposures", h.exposures(jobs, span), exposures, err)
	ranks, err := m.Figures(fabric, span).TopLinks(ctx, 1, stall, 9)
	check("TopLinks", h.topLinks(span, 9), ranks, err)
	complete, err := m.Figures(fabric, span).Completeness(ctx)
	stored := 0
	for _, c := range complete {
		stored += c.Intervals
	}
	check("Completeness", len(h.in(span)), stored, err)
}
