package store

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// oddsUnit is the resolution of stored probabilities: 1/250.
const oddsUnit = 250

// encodeOdds rounds so that the sum stays 1 (largest remainder method). Zero odds
// encode to nil.
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

// DecodeOdds reverses encodeOdds.
func DecodeOdds(stored []uint8) (o schema.Odds) {
	for i, p := range stored[:min(len(stored), len(o))] {
		o[i] = float64(p) / oddsUnit
	}
	return o
}

// forecastOf returns a region's forecast, or an empty one if it has none.
func forecastOf(r *schema.Region) *schema.Forecast {
	if r.Forecast == nil {
		return &schema.Forecast{}
	}
	return r.Forecast
}

// forecastFields hold the forecasts of regions.
func forecastFields(rs []schema.Region) []field {
	return []field{
		{"odds_next", eachNested(rs, func(r *schema.Region) []uint8 { return encodeOdds(&forecastOf(r).Next) })},
		{"odds_later", eachNested(rs, func(r *schema.Region) []uint8 { return encodeOdds(&forecastOf(r).Later) })},
		{"growth_links", each(rs, func(r *schema.Region) int32 { return int32(forecastOf(r).GrowthLinks) })},
		{"trend", each(rs, func(r *schema.Region) float32 { return float32(forecastOf(r).TrendPercent) })}}
}

// trackingFields are the marker's columns for what tracking found. They are
// named as in sql/0005_tracking.sql; the views of sql/0008 give them their
// current names.
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
	unknown := schema.Unknown{}
	if t.Network.Unknown != nil {
		unknown = *t.Network.Unknown
	}
	return []field{
		{"unknown", plain[string]{string(unknown.Reason)}},
		{"unknown_since", plain[time.Time]{instant(int64(unknown.Since))}},
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

// one is a single row that holds an array of one value per element.
func one[R, T any](elements []R, value func(*R) T) column {
	return nested[[]T]{[]T(each(elements, value))}
}

// tally returns the distinct values in order, and how often each occurs.
func tally[T comparable](all []T, order func(a, b T) int) (distinct []T, counts []uint32) {
	for _, v := range slices.SortedFunc(slices.Values(all), order) {
		if n := len(distinct); n == 0 || distinct[n-1] != v {
			distinct, counts = append(distinct, v), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	return distinct, counts
}
