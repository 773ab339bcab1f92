package dashboards

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/giverny/giverny/schema"
)

// Tracking is what is known over time in one interval, beside its regions.
type Tracking struct {
	Network    schema.NetworkForecast  // its state is that of the regions and need not be filled in
	Congestion *schema.CongestionEvent // that is on; nil if none is
	Hot        []schema.HotLink        // that have been hot for longest, by metric
}

// Months answers questions about a stretch of time, however long.
type Months interface {
	// Transitions of the regions and of the network by a metric; NoMetric means all.
	Transitions(ctx context.Context, fabric string, metric schema.Metric, span Span) (regions, network Moves, err error)
	// Congestion are the regions congestion events that were on.
	Congestion(ctx context.Context, fabric string, span Span) ([]schema.CongestionEvent, error)
	// HotDurations of a stall metric, by threshold.
	HotDurations(ctx context.Context, fabric string, metric schema.Metric, span Span) ([]HotDurations, error)
	// ForecastSkill of the forecasts for the next interval, and for schema.LaterIntervals.
	ForecastSkill(ctx context.Context, fabric string, span Span) (next, later Skill, err error)
}

// Span is the half-open stretch [From, To) of time, nanoseconds UTC.
type Span struct{ FromNanos, ToNanos int64 }

// Moves counts what was in one state and then in another: first index before,
// second after.
type Moves [schema.NumStates][schema.NumStates]int

// HotDurations says for how long links of a metric stayed at or above a threshold.
type HotDurations struct {
	ThresholdPercent float64 `json:"threshold_percent"`
	Spells           int     `json:"spells"`
	MedianSeconds    float64 `json:"median_seconds"`
	P99Seconds       float64 `json:"p99_seconds"`
	P999Seconds      float64 `json:"p999_seconds"`
}

// Skill is how good forecasts were: mean Brier scores, 0 (perfect) to 2, beside
// those of persistence.
type Skill struct {
	Forecasts   int     `json:"forecasts"`
	Brier       float64 `json:"brier"`
	Persistence float64 `json:"persistence"`
}

// errRequest says that a parameter makes no sense.
var errRequest = errors.New("bad request")

// defaultSpan is how far back a question reaches that says nothing else.
const defaultSpan = 24 * time.Hour

// asked are the fabric, the span and the metric of a question about a stretch of
// time. Without from it begins a day before to, without to it ends with the newest
// interval.
func (d *Dashboards) asked(r *http.Request) (fabric string, span Span, metric schema.Metric, err error) {
	fabric = r.PathValue("fabric")
	if _, ok := d.fabrics[fabric]; !ok {
		return fabric, span, metric, errUnknownFabric
	}
	if name := r.FormValue("metric"); name != "" {
		if metric, err = schema.ParseMetric(name); err != nil {
			return fabric, span, metric, fmt.Errorf("%w: metric: %w", errRequest, err)
		}
	}
	if text := r.FormValue("to"); text != "" {
		span.ToNanos, err = instantOf("to", text)
	} else {
		var newest Stored
		newest, _, err = d.records.Latest(r.Context(), fabric)
		span.ToNanos = newest.Interval.EndNanos()
	}
	if err != nil {
		return fabric, span, metric, err
	}
	span.FromNanos = span.ToNanos - defaultSpan.Nanoseconds()
	if text := r.FormValue("from"); text != "" {
		span.FromNanos, err = instantOf("from", text)
	}
	return fabric, span, metric, err
}

// instantOf reads a time: RFC 3339, or nanoseconds since 1970.
func instantOf(name, text string) (int64, error) {
	if nanos, err := strconv.ParseInt(text, 10, 64); err == nil {
		return nanos, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %q: want a time such as 2026-03-01T12:00:00Z, or nanoseconds since 1970", errRequest, name, text)
	}
	return t.UnixNano(), nil
}

type spanJSON struct {
	FromNanos int64 `json:"from_nanos"`
	ToNanos   int64 `json:"to_nanos"`
}

// movesJSON has no probabilities for a state that was never left.
type movesJSON struct {
	Counts        Moves       `json:"counts"`
	Probabilities [][]float64 `json:"probabilities"`
}

func newMovesJSON(m Moves) movesJSON {
	j := movesJSON{Counts: m, Probabilities: make([][]float64, len(m))}
	for from, row := range m {
		total := 0
		for _, n := range row {
			total += n
		}
		for to := 0; total > 0 && to < len(row); to++ {
			j.Probabilities[from] = append(j.Probabilities[from], float64(row[to])/float64(total))
		}
	}
	return j
}

type transitionsJSON struct {
	spanJSON
	States  [schema.NumStates]string `json:"states"` // names of the rows and columns
	Regions movesJSON                `json:"regions"`
	Network movesJSON                `json:"network"`
}

func (d *Dashboards) transitions(r *http.Request) (any, error) {
	fabric, span, metric, err := d.asked(r)
	if err != nil {
		return nil, err
	}
	regions, network, err := d.records.Transitions(r.Context(), fabric, metric, span)
	if err != nil {
		return nil, err
	}
	j := transitionsJSON{spanJSON: spanJSON(span), Regions: newMovesJSON(regions), Network: newMovesJSON(network)}
	for s := range j.States {
		j.States[s] = schema.RegionState(s).String()
	}
	return j, nil
}

func (d *Dashboards) congestion(r *http.Request) (any, error) {
	fabric, span, _, err := d.asked(r)
	if err != nil {
		return nil, err
	}
	events, err := d.records.Congestion(r.Context(), fabric, span)
	return struct {
		spanJSON
		Events []schema.CongestionEvent `json:"events"`
	}{spanJSON(span), append([]schema.CongestionEvent{}, events...)}, err
}

func (d *Dashboards) hotspots(r *http.Request) (any, error) {
	fabric, span, metric, err := d.asked(r)
	if err != nil {
		return nil, err
	}
	if !metric.IsStall() {
		return nil, fmt.Errorf("%w: metric: want a stall metric, such as credit_stall", errRequest)
	}
	durations, err := d.records.HotDurations(r.Context(), fabric, metric, span)
	return struct {
		spanJSON
		Metric    schema.Metric  `json:"metric"`
		Durations []HotDurations `json:"durations"`
	}{spanJSON(span), metric, append([]HotDurations{}, durations...)}, err
}

func (d *Dashboards) forecasts(r *http.Request) (any, error) {
	fabric, span, _, err := d.asked(r)
	if err != nil {
		return nil, err
	}
	next, later, err := d.records.ForecastSkill(r.Context(), fabric, span)
	return struct {
		spanJSON
		Next  Skill `json:"next"`
		Later Skill `json:"later"`
	}{spanJSON(span), next, later}, err
}
