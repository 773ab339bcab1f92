//go:build engine || integration

package read

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// twin answers the queries of the SQL files directly from the results, in the
// simplest way.
type twin []*schema.IntervalResult

// at returns the result of a minute, or nil.
func (w twin) at(minutes int) *schema.IntervalResult {
	for i := range w {
		if w[i].Snapshot.Interval.StartNanos == int64(minutes)*minute {
			return w[i]
		}
	}
	return nil
}

func (w twin) value(minutes, link int) (float64, bool) {
	r := w.at(minutes)
	if r == nil || !r.Snapshot.Series[0].Valid.Has(link) {
		return 0, false
	}
	return float64(r.Snapshot.Series[0].Values[link]), true
}

func (w twin) region(minutes int, id uint64) *schema.Region {
	if r := w.at(minutes); r != nil {
		for i := range r.Regions {
			if r.Regions[i].ID == id {
				return &r.Regions[i]
			}
		}
	}
	return nil
}

const twinMinutes = 8

// durationsOf returns the quantiles at the given places of the sorted durations.
func durationsOf(threshold float64, durations []time.Duration, place func(q float64, n int) int) *HotDurations {
	if len(durations) == 0 {
		return nil
	}
	slices.Sort(durations)
	quantile := func(q float64) float64 { return durations[place(q, len(durations))].Seconds() }
	return &HotDurations{threshold, len(durations), quantile(0.5), quantile(0.99), quantile(0.999)}
}

func (w twin) topLinks(n int) []LinkRank {
	var ranks []LinkRank
	for link := range w[0].Snapshot.Links {
		rank, seen := LinkRank{Link: schema.LinkID(link), Max: math.Inf(-1)}, 0
		for m := range twinMinutes {
			if v, ok := w.value(m, link); ok {
				rank.Mean, rank.Max = rank.Mean+v, max(rank.Max, v)
				seen++
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

func (w twin) networkTransitions() (t Transitions) {
	for m := range twinMinutes {
		if a, b := w.at(m), w.at(m+1); a != nil && b != nil {
			t[a.States[0].Severity][b.States[0].Severity]++
		}
	}
	return t
}

var twinForecasts = []*schema.Forecast{nil, {Next: schema.Odds{.2, .2, .2, .2, .2}, Later: schema.Odds{0, 0, 0, .1, .9}}, {Next: schema.Odds{0, .5, .3, .2, 0}, Later: schema.Odds{1, 0, 0, 0, 0}}}

// skill scores the forecasts for ahead minutes, if all intervals in between exist.
func (w twin) skill(ahead int) (s schema.ForecastSkill) {
	for m := range twinMinutes {
		whole := true
		for i := range ahead + 1 {
			whole = whole && w.at(m+i) != nil
		}
		for id := uint64(1); whole && id <= 3; id++ {
			r := w.region(m, id)
			if r == nil || r.Forecast == nil {
				continue
			}
			became := schema.Gone
			if later := w.region(m+ahead, id); later != nil {
				became = schema.RegionState(later.Severity)
			}
			addForecast(&s, r.Forecast, ahead, schema.RegionState(r.Severity), became)
		}
	}
	return meanSkill(s)
}

// addForecast adds the Brier scores of a forecast and of persistence, the forecast that nothing changes.
func addForecast(s *schema.ForecastSkill, f *schema.Forecast, ahead int, is, became schema.RegionState) {
	odds := f.Next
	if ahead > 1 {
		odds = f.Later
	}
	s.Forecasts++
	if became != is {
		s.Persistence += 2
	}
	odds[became]--
	for _, miss := range odds {
		s.Brier += miss * miss
	}
}

// meanSkill divides the sums.
func meanSkill(s schema.ForecastSkill) schema.ForecastSkill {
	if s.Forecasts > 0 {
		s.Brier, s.Persistence = s.Brier/float64(s.Forecasts), s.Persistence/float64(s.Forecasts)
	}
	return s
}

func (w twin) regionTransitions(metric schema.Metric) (sum Transitions) {
	for _, r := range w {
		for _, m := range r.Transitions {
			if metric == schema.NoMetric || m.Metric == metric {
				sum[m.From][m.To]++
			}
		}
	}
	return sum
}

func (w twin) episodes(threshold float64) *HotDurations {
	var durations []time.Duration
	for _, r := range w {
		for _, s := range r.Episodes {
			if s.Metric == stall && s.ThresholdPercent == threshold {
				durations = append(durations, time.Duration(s.Intervals-1)*time.Minute)
			}
		}
	}
	return durationsOf(threshold, durations, func(q float64, n int) int { return max(0, int(math.Ceil(q*float64(n)))-1) }) // of two, the shorter is the median
}

// drawSeries draws the stall of the n-th interval, of so many different values.
func drawSeries(rt *rapid.T, n, links, values int) schema.Series {
	s := schema.Series{Metric: stall, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
	halves := rapid.SliceOfN(rapid.IntRange(-20, 80), values, values).Draw(rt, "values") // negative: missing
	for link := range links {
		if half := halves[(link+n)%values]; half >= 0 {
			s.Values[link] = float32(half) / 2
			s.Valid.Set(link)
			s.Count++
		}
	}
	return s
}

// drawTwin draws intervals of twinMinutes, with links in one block or two.
func drawTwin(rt *rapid.T, fabric string) twin {
	links := rapid.SampledFrom([]int{1, 5, 512, 515}).Draw(rt, "links")
	var w twin
	for m := range twinMinutes {
		if rapid.IntRange(0, 5).Draw(rt, "stored") == 0 && (m > 0 || len(w) > 0) {
			continue
		}
		snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1, Links: links, Interval: schema.Interval{StartNanos: int64(m) * minute, DurationNanos: minute}}
		snap.Series = []schema.Series{drawSeries(rt, m, links, 10)}
		r := &schema.IntervalResult{Snapshot: snap}
		for id := uint64(1); id <= 3; id++ {
			if mean := rapid.IntRange(-20, 40).Draw(rt, "mean"); mean >= 0 {
				r.Regions = append(r.Regions, schema.Region{Metric: stall, ID: id, Size: 1, Mean: float64(mean), Max: 2 * float64(mean), Severity: schema.SeverityOf(float64(mean)),
					Forecast: rapid.SampledFrom(twinForecasts).Draw(rt, "forecast")})
			}
		}
		r.Transitions = rapid.SliceOf(rapid.SampledFrom([]schema.Transition{{Metric: stall, From: 1, To: 1}, {Metric: stall, From: 1, To: schema.Gone}, {Metric: schema.InqStall, From: 2, To: 3}})).Draw(rt, "transitions")
		r.Episodes = rapid.SliceOf(rapid.Custom(func(t *rapid.T) schema.HotEpisode {
			return schema.HotEpisode{Metric: rapid.SampledFrom([]schema.Metric{stall, schema.InqStall}).Draw(t, "metric"),
				ThresholdPercent: rapid.SampledFrom([]float64{5, 12.5}).Draw(t, "threshold"), Intervals: rapid.Int64Range(1, 9).Draw(t, "intervals")}
		})).Draw(rt, "episodes")
		r.States = schema.NetworkStates(snap, r.Regions)
		w = append(w, r)
	}
	return w
}

// replacedBy returns the intervals of old that w has too: w becomes their next
// revision, which is stored after them and replaces them completely.
func replacedBy(w, old twin) (replaced twin) {
	for _, r := range w {
		for _, o := range old {
			if o.Snapshot.Interval == r.Snapshot.Interval {
				r.Revision, replaced = 1, append(replaced, o)
			}
		}
	}
	return replaced
}

func TestQueriesAgreeWithTheTwin(t *testing.T) {
	if err := flag.Set("rapid.checks", "4"); err != nil {
		t.Fatal(err)
	}
	m, n := newModel(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		fabric := fmt.Sprintf("fabric %d", n)
		w := drawTwin(rt, fabric)
		if rapid.Bool().Draw(rt, "revised") {
			m.store(t, replacedBy(w, drawTwin(rt, fabric))...)
		}
		m.store(t, w...)
		ctx, span := rt.Context(), minutes(0, twinMinutes)
		check := func(name string, want, got any, err error) {
			if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); err != nil || diff != "" {
				rt.Errorf("%s: %v %s", name, err, diff)
			}
		}
		top, err := m.Figures(fabric, span).TopLinks(ctx, 1, stall, 7)
		check("TopLinks", w.topLinks(7), top, err)
		network, err := m.Figures(fabric, span).NetworkTransitions(ctx, stall)
		check("NetworkTransitions", w.networkTransitions(), network, err)
		skills, err := m.Figures(fabric, span).ForecastSkill(ctx)
		check("ForecastSkill", schema.ForecastSkills{Next: w.skill(1), Later: w.skill(schema.LaterIntervals)}, skills, err)
		for _, metric := range []schema.Metric{stall, schema.NoMetric} {
			transitions, err := m.Figures(fabric, span).RegionTransitions(ctx, metric)
			check("RegionTransitions", w.regionTransitions(metric), transitions, err)
		}
		var want []HotDurations
		for _, threshold := range []float64{5, 12.5} {
			if h := w.episodes(threshold); h != nil {
				want = append(want, *h)
			}
		}
		episodes, err := m.Figures(fabric, span).HotEpisodes(ctx, stall)
		check("HotEpisodes", want, episodes, err)
		last, err := m.LastStored(ctx, fabric)
		if err != nil {
			rt.Fatal(err)
		}
		snap, err := m.Snapshot(ctx, fabric, last)
		check("Snapshot", w[len(w)-1].Snapshot, snap, err)
	})
}
