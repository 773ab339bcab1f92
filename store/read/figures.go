package read

import (
	"context"
	"encoding/json"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// Figures are the statistics of a fabric over a span, which may be long: Monet's characterisation (NSDI 2020, sections 3.2,
// 5 and 6) and the histories of links. They are counted from roll-ups where these are valid. Each SQL file says how its query
// is defined.
type Figures struct {
	model  *Model
	fabric string
	span   Span
	rolled *[2]*store.Rolled // what is rolled up, without and with links; nil: each query looks it up
}

// Figures returns the statistics of a fabric over a span.
func (m *Model) Figures(fabric string, span Span) *Figures {
	return &Figures{model: m, fabric: fabric, span: span}
}

// Prepare looks up once, now, which hours are rolled up, instead of once per query.
func (f *Figures) Prepare(ctx context.Context) (err error) {
	var rolled [2]*store.Rolled
	for i, links := range []bool{false, true} {
		if rolled[i], err = f.lookUpRolled(ctx, links); err != nil {
			return err
		}
	}
	f.rolled = &rolled
	return nil
}

// Noting returns figures that call asked with each statement that succeeded.
func (f *Figures) Noting(asked func(Statement)) *Figures {
	return &Figures{f.model.Noting(asked), f.fabric, f.span, f.rolled}
}

// args are the arguments of a query about the intervals that start in the span.
func (f *Figures) args() Args { return inSpan(f.fabric, f.span) }

// of are args and a metric.
func (f *Figures) of(metric schema.Metric) Args { return f.args().with("metric", metric.String()) }

// rolledUp is limited for a query that uses roll-ups where they are valid.
func rolledUp[T any](ctx context.Context, f *Figures, name string, a Args) ([]T, error) {
	return rolledLinks[T](ctx, f, name, a, false)
}

// rolledLinks is rolledUp; with links, only hours whose links are rolled up count.
func rolledLinks[T any](ctx context.Context, f *Figures, name string, a Args, links bool) ([]T, error) {
	rolled, err := f.rolledIn(ctx, links)
	if err != nil {
		return nil, err
	}
	return rows[T](ctx, f.model, name, scope{rolled, a}, store.Question{Settings: limits()})
}

func (f *Figures) rolledIn(ctx context.Context, links bool) (*store.Rolled, error) {
	switch {
	case f.rolled == nil:
		return f.lookUpRolled(ctx, links)
	case links:
		return f.rolled[1], nil
	}
	return f.rolled[0], nil
}

func (f *Figures) lookUpRolled(ctx context.Context, links bool) (*store.Rolled, error) {
	return f.model.db.Rolled(ctx, f.fabric, ceilMillis(f.span.From), ceilMillis(f.span.To), links)
}

// HotDurations is the distribution of how long links stayed at or above a stall threshold.
type HotDurations struct {
	ThresholdPercent float64 `json:"threshold_percent"`
	Episodes         int     `json:"episodes"`
	MedianSeconds    float64 `json:"median_seconds"`
	P99Seconds       float64 `json:"p99_seconds"`
	P999Seconds      float64 `json:"p999_seconds"`
}

// HotEpisodes is figure 3: the episodes of a stall metric that ended in a span,
// for the configured thresholds.
func (f *Figures) HotEpisodes(ctx context.Context, metric schema.Metric) ([]HotDurations, error) {
	type row struct {
		Level       float64 `ch:"level"`
		Episodes    uint64  `ch:"episodes"`
		DurationsMs []int64 `ch:"durations_ms"`
	}
	found, err := rolledUp[row](ctx, f, "hot_episodes", f.of(metric))
	return convert(found, err, func(r *row) (HotDurations, error) {
		seconds := func(quantile int) float64 { return float64(r.DurationsMs[quantile]) / 1e3 }
		return HotDurations{r.Level, int(r.Episodes), seconds(0), seconds(1), seconds(2)}, nil
	})
}

// Bucket is a bar of a histogram by severity: the number of regions whose size, or
// life in minutes, is in [From, 2*From).
type Bucket struct {
	Severity schema.Severity `json:"severity"`
	From     int             `json:"from"`
	Regions  int             `json:"regions"`
}

// RegionSizes is figure 5a: regions, counted once per interval, by number of links.
func (f *Figures) RegionSizes(ctx context.Context, metric schema.Metric) ([]Bucket, error) {
	return f.histogram(ctx, "region_sizes", metric)
}

// RegionDurations is figure 5b: regions, counted once under the highest
// severity that they reached, by life in minutes within the span.
func (f *Figures) RegionDurations(ctx context.Context, metric schema.Metric) ([]Bucket, error) {
	return f.histogram(ctx, "region_durations", metric)
}

func (f *Figures) histogram(ctx context.Context, query string, metric schema.Metric) ([]Bucket, error) {
	type row struct {
		Severity uint8  `ch:"severity"`
		Bucket   uint64 `ch:"bucket"`
		Regions  uint64 `ch:"regions"`
	}
	found, err := rolledUp[row](ctx, f, query, f.of(metric))
	return convert(found, err, func(r *row) (Bucket, error) {
		return Bucket{Severity: schema.Severity(r.Severity), From: int(r.Bucket), Regions: int(r.Regions)}, nil
	})
}

// Transitions counts transitions from the state in one interval to that in the
// next: element [a][b] counts those from a to b.
type Transitions [schema.NumStates][schema.NumStates]int

// From is the number of transitions from a state.
func (t *Transitions) From(a schema.RegionState) (n int) {
	for _, count := range t[a] {
		n += count
	}
	return n
}

// Probability is the share of b among the transitions from a; 0 if there are none.
func (t *Transitions) Probability(a, b schema.RegionState) float64 {
	if n := t.From(a); n > 0 {
		return float64(t[a][b]) / float64(n)
	}
	return 0
}

// MarshalJSON encodes counts and probabilities, one row per state before and one
// column per state after; the probabilities from a state without transitions are
// null.
func (t Transitions) MarshalJSON() ([]byte, error) {
	probabilities := make([][]float64, len(t))
	for a := range schema.RegionState(schema.NumStates) {
		for b := schema.RegionState(0); t.From(a) > 0 && int(b) < schema.NumStates; b++ {
			probabilities[a] = append(probabilities[a], t.Probability(a, b))
		}
	}
	return json.Marshal(map[string]any{"counts": [schema.NumStates][schema.NumStates]int(t), "probabilities": probabilities})
}

// RegionTransitions is figure 5c, with Gone separate from Neg. NoMetric means all metrics.
func (f *Figures) RegionTransitions(ctx context.Context, metric schema.Metric) (Transitions, error) {
	return f.transitions(ctx, "region_transitions", metric)
}

// NetworkTransitions is figure 6: the network's state is that of its worst region
// by the metric; NoMetric means by any.
func (f *Figures) NetworkTransitions(ctx context.Context, metric schema.Metric) (Transitions, error) {
	return f.transitions(ctx, "network_transitions", metric)
}

func (f *Figures) transitions(ctx context.Context, query string, metric schema.Metric) (t Transitions, err error) {
	found, err := rolledUp[struct {
		Before      uint8  `ch:"before"`
		After       uint8  `ch:"after"`
		Transitions uint64 `ch:"transitions"`
	}](ctx, f, query, f.of(metric))
	for _, r := range found {
		if int(r.Before) < schema.NumStates && int(r.After) < schema.NumStates {
			t[r.Before][r.After] = int(r.Transitions)
		}
	}
	return t, err
}

// LinkTime returns the share of measured link time that links spent at each severity of a
// metric (figure 5c, the boxes); nil if no link was measured.
func (f *Figures) LinkTime(ctx context.Context, metric schema.Metric) (*[len(schema.Severities)]float64, error) {
	found, err := rolledUp[struct {
		Severity int8    `ch:"severity"`
		LinkMs   float64 `ch:"link_ms"`
	}](ctx, f, "link_time", f.of(metric))
	var share [len(schema.Severities)]float64
	var all float64
	for _, r := range found {
		if r.Severity < 0 {
			all = r.LinkMs
		} else {
			share[r.Severity] = r.LinkMs
		}
	}
	if err != nil || all == 0 {
		return nil, err
	}
	share[schema.Negligible] = 1
	for s := schema.Low; s <= schema.High; s++ {
		share[s] /= all
		share[schema.Negligible] -= share[s]
	}
	return &share, nil
}

// Congestion returns the regions congestion events (RCE) that overlap a span, over
// all metrics, with the configured window.
func (f *Figures) Congestion(ctx context.Context) ([]schema.CongestionEvent, error) {
	type row struct {
		Begin time.Time `ch:"begin"`
		End   time.Time `ch:"end"`
		Peak  float32   `ch:"peak"`
	}
	found, err := rolledUp[row](ctx, f, "congestion", f.args())
	return convert(found, err, func(r *row) (schema.CongestionEvent, error) {
		return schema.CongestionEvent{BeginNanos: r.Begin.UnixNano(), EndNanos: r.End.UnixNano(), PeakMeanPercent: decimal(r.Peak)}, nil
	})
}

// ForecastSkill compares the forecasts of a span with what actually happened in it.
func (f *Figures) ForecastSkill(ctx context.Context) (skills schema.ForecastSkills, err error) {
	found, err := rolledUp[struct {
		Ahead       uint8   `ch:"ahead"`
		Forecasts   uint64  `ch:"forecasts"`
		Brier       float64 `ch:"brier"`
		Persistence float64 `ch:"persistence"`
	}](ctx, f, "forecast_skill", f.args())
	for _, r := range found {
		skill := schema.ForecastSkill{Forecasts: r.Forecasts, Brier: r.Brier, Persistence: r.Persistence}
		switch r.Ahead {
		case 1:
			skills.Next = skill
		case schema.LaterIntervals:
			skills.Later = skill
		}
	}
	return skills, err
}

// Mitigation is a congestion mitigation event (CME): coalesced throttling
// events, from the first to the last.
type Mitigation struct {
	Begin       schema.Instant `json:"begin"`
	End         schema.Instant `json:"end"`
	Throttlings int            `json:"throttlings"`
	Outcome     *Outcome       `json:"outcome"` // nil: not known (yet)
}

// Outcome is the effect of a mitigation: the regions congestion event that it overlaps
// (0: none), and the stall of all regions, links times percent of time, in the five
// intervals before and after.
type Outcome struct {
	Congestion schema.Instant `json:"congestion,omitzero"`
	Before     float64        `json:"before_link_percent"`
	After      float64        `json:"after_link_percent"`
	Alleviated bool           `json:"alleviated"` // less than 90% is left
}

// MitigationWindow is the paper's: throttling events within it of each other are coalesced.
const MitigationWindow = 210 * time.Second

// Mitigations returns the CMEs of section 5.3, with the outcomes that the analysis
// found if it coalesces with the same window.
func (f *Figures) Mitigations(ctx context.Context, window time.Duration) ([]Mitigation, error) {
	type row struct {
		Begin  time.Time `ch:"begin"`
		End    time.Time `ch:"end"`
		Events uint64    `ch:"events"`
	}
	found, err := limited[row](ctx, f.model, "mitigations", f.args().with("window_ns", window.Nanoseconds()))
	if err != nil {
		return nil, err
	}
	outcomes, err := f.outcomes(ctx)
	return convert(found, err, func(r *row) (Mitigation, error) {
		return Mitigation{schema.InstantOf(r.Begin), schema.InstantOf(r.End), int(r.Events), outcomes[schema.InstantOf(r.Begin)]}, nil
	})
}

// outcomes returns the outcomes of the mitigations that began in a span, by begin.
func (f *Figures) outcomes(ctx context.Context) (map[schema.Instant]*Outcome, error) {
	found, err := limited[struct {
		Begin      time.Time `ch:"begin"`
		Congestion time.Time `ch:"congestion"`
		Before     float64   `ch:"stall_before"`
		After      float64   `ch:"stall_after"`
		Alleviated bool      `ch:"alleviated"`
	}](ctx, f.model, "mitigation_outcomes", f.args())
	byBegin := make(map[schema.Instant]*Outcome, len(found))
	for _, r := range found {
		byBegin[schema.InstantOf(r.Begin)] = &Outcome{schema.InstantOf(r.Congestion), r.Before, r.After, r.Alleviated}
	}
	return byBegin, err
}

// Point is a value at the start of an interval.
type Point struct {
	Time  schema.Instant `json:"time"`
	Value float64        `json:"value"`
}

// LinkSeries returns one metric of one link of a graph version over a span,
// without the intervals in which it was not measured.
func (f *Figures) LinkSeries(ctx context.Context, version uint64, metric schema.Metric, link schema.LinkID) ([]Point, error) {
	type row struct {
		Time  time.Time `ch:"time"`
		Value *float64  `ch:"value"`
	}
	a := f.of(metric).with("version", version).
		with("block", uint32(link)/store.LinksPerBlock).with("element", uint32(link)%store.LinksPerBlock+1)
	found, err := limited[row](ctx, f.model, "link_series", a)
	return convert(found, err, func(r *row) (Point, error) { return Point{schema.InstantOf(r.Time), *r.Value}, nil })
}

// LinkRank summarises a link's metric over a span, in the metric's unit.
type LinkRank struct {
	Link schema.LinkID `json:"link"`
	Mean float64       `json:"mean"` // over the intervals in which it was measured
	Max  float64       `json:"max"`
}

// TopLinks returns the n links of a graph version with the highest mean of a
// metric over a span.
func (f *Figures) TopLinks(ctx context.Context, version uint64, metric schema.Metric, n int) ([]LinkRank, error) {
	type row struct {
		Link uint32  `ch:"link"`
		Mean float64 `ch:"mean"`
		Max  float64 `ch:"max"`
	}
	found, err := rolledLinks[row](ctx, f, "top_links", f.of(metric).with("version", version).with("n", uint32(n)).with("bucket", int64(3600)), true)
	return convert(found, err, func(r *row) (LinkRank, error) { return LinkRank{schema.LinkID(r.Link), r.Mean, r.Max}, nil })
}
