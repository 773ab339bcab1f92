package store

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

// The questions of Monet's characterisation (NSDI 2020, sections 3.2 and 5) that
// the tables of this package answer. How each is put is said in its SQL file.

// HotspotDurations says for how long links stay at or above a threshold.
type HotspotDurations struct {
	ThresholdPercent   float64
	Hotspots           int
	Median, P99, P99_9 time.Duration
}

// HotspotDurations answers figure 3 for a stall metric and thresholds in percent
// of time.
func (db *DB) HotspotDurations(ctx context.Context, fabric string, m schema.Metric, span Span, thresholdsPercent []float64) ([]HotspotDurations, error) {
	return db.hotspots(ctx, "hotspot_durations", inSpan(fabric, span).with("metric", m.String()).with("thresholds", thresholdsPercent))
}

func (db *DB) hotspots(ctx context.Context, query string, a args) ([]HotspotDurations, error) {
	rows, err := ask[struct {
		Level       float64 `ch:"level"`
		Hotspots    uint64  `ch:"hotspots"`
		DurationsMs []int64 `ch:"durations_ms"`
	}](ctx, db, query, a)
	if err != nil {
		return nil, err
	}
	out := make([]HotspotDurations, len(rows))
	for i, r := range rows {
		ms := func(q int) time.Duration { return time.Duration(r.DurationsMs[q]) * time.Millisecond }
		out[i] = HotspotDurations{r.Level, int(r.Hotspots), ms(0), ms(1), ms(2)}
	}
	return out, nil
}

// Bucket is a bar of a histogram by severity: Count regions from From to below
// twice that.
type Bucket struct {
	Severity schema.Severity
	From     int
	Count    int
}

// RegionSizes is figure 5a: regions, counted once per interval, by number of
// links.
func (db *DB) RegionSizes(ctx context.Context, fabric string, m schema.Metric, span Span) ([]Bucket, error) {
	return db.histogram(ctx, "region_sizes", fabric, m, span)
}

// RegionDurations is figure 5b: regions, counted once and under the highest
// severity that they reached, by minutes of life within the span.
func (db *DB) RegionDurations(ctx context.Context, fabric string, m schema.Metric, span Span) ([]Bucket, error) {
	return db.histogram(ctx, "region_durations", fabric, m, span)
}

func (db *DB) histogram(ctx context.Context, query, fabric string, m schema.Metric, span Span) ([]Bucket, error) {
	type row struct {
		Severity string `ch:"severity"`
		Bucket   uint64 `ch:"bucket"`
		Regions  uint64 `ch:"regions"`
	}
	rows, err := ask[row](ctx, db, query, inSpan(fabric, span).with("metric", m.String()))
	if err != nil {
		return nil, err
	}
	return convertRows(rows, func(r *row) (Bucket, error) {
		b := Bucket{From: int(r.Bucket), Count: int(r.Regions)}
		return b, b.Severity.UnmarshalText([]byte(r.Severity))
	})
}

// Transitions counts changes of state from one interval to the next: element
// [a][b] those from severity a to b.
type Transitions [len(schema.Severities)][len(schema.Severities)]int

// Probability is the share of b among the transitions from a; 0 if there are
// none.
func (t *Transitions) Probability(a, b schema.Severity) float64 {
	if n := t.From(a); n > 0 {
		return float64(t[a][b]) / float64(n)
	}
	return 0
}

// From is the number of transitions from a.
func (t *Transitions) From(a schema.Severity) (n int) {
	for _, count := range t[a] {
		n += count
	}
	return n
}

// RegionTransitions is figure 5c. The row of Neg counts the births of regions
// and those that are graded Neg themselves; links outside any region are in no
// row.
func (db *DB) RegionTransitions(ctx context.Context, fabric string, m schema.Metric, span Span) (Transitions, error) {
	return db.transitions(ctx, "region_transitions", inSpan(fabric, span).with("metric", m.String()))
}

// NetworkTransitions is figure 6: the network's state is that of its worst
// region by any of the metrics.
func (db *DB) NetworkTransitions(ctx context.Context, fabric string, metrics []schema.Metric, span Span) (Transitions, error) {
	return db.transitions(ctx, "network_transitions", inSpan(fabric, span).with("metrics", metricNames(metrics)))
}

func (db *DB) transitions(ctx context.Context, query string, a args) (t Transitions, err error) {
	rows, err := ask[struct {
		Before      uint8  `ch:"before"`
		After       uint8  `ch:"after"`
		Transitions uint64 `ch:"transitions"`
	}](ctx, db, query, a)
	for _, r := range rows {
		t[r.Before][r.After] = int(r.Transitions)
	}
	return t, err
}

// LinkTime is the share of all link time spent at each severity (figure 5c, the
// boxes).
func (db *DB) LinkTime(ctx context.Context, fabric string, m schema.Metric, span Span) (share [len(schema.Severities)]float64, err error) {
	rows, err := ask[struct {
		Severity string  `ch:"severity"`
		Share    float64 `ch:"share"`
	}](ctx, db, "link_time", inSpan(fabric, span).with("metric", m.String()))
	share[schema.Negligible] = 1
	for _, r := range rows {
		var s schema.Severity
		if err := s.UnmarshalText([]byte(r.Severity)); err != nil {
			return share, err
		}
		share[s] = r.Share
		share[schema.Negligible] -= r.Share
	}
	return share, err
}

// CongestionEvent is a regions congestion event (RCE): a stretch of time in
// which the network never went without a High region for longer than a window.
type CongestionEvent struct {
	Span
	Regions int // counted once per interval
	// MeanPercent and MaxPercent are over all regions of a metric in the event.
	MeanPercent, MaxPercent map[schema.Metric]float64
}

// CongestionEvents are the RCEs of section 5.3; the paper's window is 5 minutes.
func (db *DB) CongestionEvents(ctx context.Context, fabric string, metrics []schema.Metric, span Span, window time.Duration) ([]CongestionEvent, error) {
	type row struct {
		Begin   time.Time          `ch:"begin"`
		End     time.Time          `ch:"end"`
		Regions uint64             `ch:"regions"`
		Mean    map[string]float64 `ch:"mean"`
		Max     map[string]float64 `ch:"max"`
	}
	rows, err := ask[row](ctx, db, "congestion_events",
		inSpan(fabric, span).with("metrics", metricNames(metrics)).with("window_ms", uint32(window.Milliseconds())))
	if err != nil {
		return nil, err
	}
	return convertRows(rows, func(r *row) (CongestionEvent, error) {
		e := CongestionEvent{Span: Span{r.Begin.UnixNano(), r.End.UnixNano()}, Regions: int(r.Regions),
			MeanPercent: map[schema.Metric]float64{}, MaxPercent: map[schema.Metric]float64{}}
		for name, mean := range r.Mean {
			m, err := schema.ParseMetric(name)
			if err != nil {
				return e, err
			}
			e.MeanPercent[m], e.MaxPercent[m] = mean, r.Max[name]
		}
		return e, nil
	})
}

// Mitigation is a congestion mitigation event (CME): throttling events that were
// coalesced, from the first to the last.
type Mitigation struct {
	Span
	Throttlings int
}

// Mitigations are the CMEs of section 5.3; the paper's window is 210 s.
func (db *DB) Mitigations(ctx context.Context, fabric string, span Span, window time.Duration) ([]Mitigation, error) {
	rows, err := ask[struct {
		Begin  time.Time `ch:"begin"`
		End    time.Time `ch:"end"`
		Events uint64    `ch:"events"`
	}](ctx, db, "mitigations", args{"fabric": fabric, "from": span.FromNanos, "to": span.ToNanos, "window_ns": window.Nanoseconds()})
	if err != nil {
		return nil, err
	}
	out := make([]Mitigation, len(rows))
	for i, r := range rows {
		out[i] = Mitigation{Span{r.Begin.UnixNano(), r.End.UnixNano()}, int(r.Events)}
	}
	return out, nil
}
