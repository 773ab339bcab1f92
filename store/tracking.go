package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// Tracking is what is known over time in an interval, beside its regions.
type Tracking struct {
	Network    schema.NetworkForecast  // of all metrics
	Congestion *schema.CongestionEvent // that is on; nil if none is
	Hot        []schema.HotLink        // that have been hot for longest, by metric
}

// oddsUnit is what probabilities are stored in: 1/250.
const oddsUnit = 250

// encodeOdds rounds so that the sum stays 1: what is left over goes to those that
// lost most. Odds of nothing are none.
func encodeOdds(o *schema.Odds) []uint8 {
	if *o == (schema.Odds{}) {
		return nil
	}
	out, left, lost := make([]uint8, len(o)), oddsUnit, [len(o)]float64{}
	var order []int
	for i, p := range o {
		whole := math.Floor(p * oddsUnit)
		out[i], lost[i] = uint8(whole), p*oddsUnit-whole
		left -= int(whole)
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for _, i := range order[:min(max(left, 0), len(order))] {
		out[i]++
	}
	return out
}

func decodeOdds(stored []uint8) (o schema.Odds) {
	for i, p := range stored[:min(len(stored), len(o))] {
		o[i] = float64(p) / oddsUnit
	}
	return o
}

// forecastOf gives what a region's row says of its forecast; an empty one if it
// has none.
func forecastOf(r *schema.Region) *schema.Forecast {
	if r.Forecast == nil {
		return &schema.Forecast{}
	}
	return r.Forecast
}

// forecastFields say where regions are heading.
func forecastFields(rs []schema.Region) []field {
	return []field{
		{"odds_next", eachNested(rs, func(r *schema.Region) []uint8 { return encodeOdds(&forecastOf(r).Next) })},
		{"odds_later", eachNested(rs, func(r *schema.Region) []uint8 { return encodeOdds(&forecastOf(r).Later) })},
		{"growth_links", each(rs, func(r *schema.Region) int32 { return int32(forecastOf(r).GrowthLinks) })},
		{"trend", each(rs, func(r *schema.Region) float32 { return float32(forecastOf(r).TrendPercent) })}}
}

// trackingFields are what the marker says of the interval over time. The columns
// have the names of sql/0005_tracking.sql; the views of sql/0008 say the same in
// today's words.
func trackingFields(t *schema.IntervalResult) []field {
	var e schema.CongestionEvent
	if t.Congestion != nil {
		e = *t.Congestion
	}
	transitions, regions := tally(t.Transitions, func(a, b schema.Transition) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	episodes, links := tally(t.Episodes, func(a, b schema.HotEpisode) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.ThresholdPercent, b.ThresholdPercent), cmp.Compare(a.Intervals, b.Intervals))
	})
	return []field{
		{"network_next", nested[[]uint8]{encodeOdds(&t.Network.Next)}},
		{"network_later", nested[[]uint8]{encodeOdds(&t.Network.Later)}},
		{"rce_begin", plain[time.Time]{instant(e.BeginNanos)}},
		{"rce_end", plain[time.Time]{instant(e.EndNanos)}},
		{"rce_peak", plain[float32]{float32(e.PeakMeanPercent)}},
		{"move_metrics", one(transitions, func(t *schema.Transition) string { return t.Metric.String() })},
		{"move_from", one(transitions, func(t *schema.Transition) uint8 { return uint8(t.From) })},
		{"move_to", one(transitions, func(t *schema.Transition) uint8 { return uint8(t.To) })},
		{"move_regions", nested[[]uint32]{regions}},
		{"spell_metrics", one(episodes, func(e *schema.HotEpisode) string { return e.Metric.String() })},
		{"spell_thresholds", one(episodes, func(e *schema.HotEpisode) float32 { return float32(e.ThresholdPercent) })},
		{"spell_intervals", one(episodes, func(e *schema.HotEpisode) uint32 { return uint32(e.Intervals) })},
		{"spell_links", nested[[]uint32]{links}},
		{"hot_metrics", one(t.Hot, func(h *schema.HotLink) string { return h.Metric.String() })},
		{"hot_links", one(t.Hot, func(h *schema.HotLink) uint32 { return uint32(h.Link) })},
		{"hot_since", one(t.Hot, func(h *schema.HotLink) time.Time { return instant(h.SinceNanos) })}}
}

// one is a row whose value is the array of each element's value.
func one[R, T any](elements []R, value func(*R) T) column {
	return nested[[]T]{[]T(each(elements, value))}
}

// tally sorts a copy and counts what is equal.
func tally[T comparable](all []T, order func(a, b T) int) (distinct []T, counts []uint32) {
	for _, v := range slices.SortedFunc(slices.Values(all), order) {
		if n := len(distinct); n == 0 || distinct[n-1] != v {
			distinct, counts = append(distinct, v), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	return distinct, counts
}

// TrackingAt is what was stored of an interval, without moves and spells, which
// are there to be added up. The network's state is that of its regions and is not
// filled in. ErrNotFound: the interval is not stored.
func (db *DB) TrackingAt(ctx context.Context, fabric string, startNanos int64) (Tracking, error) {
	rows, err := ask[struct {
		Next       []uint8     `ch:"network_next"`
		Later      []uint8     `ch:"network_later"`
		Begin      time.Time   `ch:"rce_begin"`
		End        time.Time   `ch:"rce_end"`
		Peak       float32     `ch:"rce_peak"`
		HotMetrics []string    `ch:"hot_metrics"`
		HotLinks   []uint32    `ch:"hot_links"`
		HotSince   []time.Time `ch:"hot_since"`
	}](ctx, db, "tracking_at", args{"fabric": fabric, "start": startNanos / 1e6})
	if err != nil {
		return Tracking{}, err
	}
	if len(rows) == 0 {
		return Tracking{}, fmt.Errorf("interval %s of fabric %q: %w", instant(startNanos).Format(time.RFC3339Nano), fabric, ErrNotFound)
	}
	r := &rows[0]
	t := Tracking{Network: schema.NetworkForecast{Next: decodeOdds(r.Next), Later: decodeOdds(r.Later)}}
	if begin := r.Begin.UnixNano(); begin != 0 {
		t.Congestion = &schema.CongestionEvent{BeginNanos: begin, EndNanos: r.End.UnixNano(), PeakMeanPercent: float64(r.Peak)}
	}
	for i, name := range r.HotMetrics {
		m, err := schema.ParseMetric(name)
		if err != nil {
			return t, fmt.Errorf("hot links at %s: %w", instant(startNanos), err)
		}
		t.Hot = append(t.Hot, schema.HotLink{Metric: m, Link: schema.LinkID(r.HotLinks[i]), SinceNanos: r.HotSince[i].UnixNano()})
	}
	return t, nil
}

// RegionMoves counts what regions were in one interval, and what in the next:
// element [a][b] those from a to b (figure 5c, with Gone apart from Neg). NoMetric
// means all.
type RegionMoves [schema.NumStates][schema.NumStates]int

// RegionMoves are those of a span.
func (db *DB) RegionMoves(ctx context.Context, fabric string, m schema.Metric, span Span) (moves RegionMoves, err error) {
	name := ""
	if m != schema.NoMetric {
		name = m.String()
	}
	rows, err := ask[struct {
		From    uint8  `ch:"state_from"`
		To      uint8  `ch:"state_to"`
		Regions uint64 `ch:"regions"`
	}](ctx, db, "region_moves", inSpan(fabric, span).with("metric", name))
	for _, r := range rows {
		if int(r.From) < schema.NumStates && int(r.To) < schema.NumStates {
			moves[r.From][r.To] = int(r.Regions)
		}
	}
	return moves, err
}

// HotSpells answers figure 3 for the spells that ended in a span, at the
// thresholds that were configured.
func (db *DB) HotSpells(ctx context.Context, fabric string, m schema.Metric, span Span) ([]HotspotDurations, error) {
	return db.hotspots(ctx, "hot_spells", inSpan(fabric, span).with("metric", m.String()))
}

// Congestion are the RCEs that were on in a span, of all metrics, with the window
// that was configured; see CongestionEvents for any other.
func (db *DB) Congestion(ctx context.Context, fabric string, span Span) ([]schema.CongestionEvent, error) {
	rows, err := ask[struct {
		Begin time.Time `ch:"begin"`
		End   time.Time `ch:"end"`
		Peak  float32   `ch:"peak"`
	}](ctx, db, "congestion", inSpan(fabric, span))
	if err != nil {
		return nil, err
	}
	events := make([]schema.CongestionEvent, len(rows))
	for i, r := range rows {
		events[i] = schema.CongestionEvent{BeginNanos: r.Begin.UnixNano(), EndNanos: r.End.UnixNano(), PeakMeanPercent: float64(r.Peak)}
	}
	return events, nil
}

// ForecastSkill compares the forecasts of a span with what then happened in it:
// those for the next interval, and those for schema.LaterIntervals.
func (db *DB) ForecastSkill(ctx context.Context, fabric string, span Span) (next, later schema.ForecastSkill, err error) {
	for ahead, skill := range map[uint8]*schema.ForecastSkill{1: &next, schema.LaterIntervals: &later} {
		rows, err := ask[struct {
			Forecasts   uint64  `ch:"forecasts"`
			Brier       float64 `ch:"brier"`
			Persistence float64 `ch:"persistence"`
		}](ctx, db, "forecast_skill", inSpan(fabric, span).with("ahead", ahead))
		if err != nil {
			return next, later, err
		}
		if len(rows) > 0 && rows[0].Forecasts > 0 {
			*skill = schema.ForecastSkill{Forecasts: rows[0].Forecasts, Brier: rows[0].Brier, Persistence: rows[0].Persistence}
		}
	}
	return next, later, nil
}
