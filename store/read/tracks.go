package read

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
)

// TrackSummary summarises a region over a span.
type TrackSummary struct {
	Region    uint64          `json:"region"` // its id
	Metric    schema.Metric   `json:"metric"`
	Name      string          `json:"name"`         // location, as last named
	FirstSeen schema.Instant  `json:"first_seen"`   // start of the first interval with it in the span
	LastSeen  schema.Instant  `json:"last_seen"`    // start of the last interval with it
	Intervals int             `json:"intervals"`    // number of intervals with it
	Severity  schema.Severity `json:"severity"`     // the highest
	Links     int             `json:"links"`        // the maximum in an interval
	Mean      float64         `json:"mean_percent"` // the highest in an interval, percent of time
}

// Tracks returns the regions of the intervals that start in a span, each once, that are of a metric (NoMetric: any)
// and reach at least a severity in one of them; at most n, the worst first.
func (m *Model) Tracks(ctx context.Context, fabric string, span Span, metric schema.Metric, least schema.Severity, n int) ([]TrackSummary, error) {
	type row struct {
		ID     uint64    `ch:"region_id"`
		Metric string    `ch:"of_metric"`
		Label  string    `ch:"label"`
		First  time.Time `ch:"first_seen"`
		Last   time.Time `ch:"last_seen"`
		Seen   uint64    `ch:"seen"`
		Worst  uint8     `ch:"worst"`
		Links  uint32    `ch:"most_links"`
		Mean   float64   `ch:"peak_mean"`
	}
	found, err := limited[row](ctx, m, "tracks", inSpan(fabric, span).with("metric", metric.String()).with("least", uint8(least)).with("limit", n))
	return convert(found, err, func(r *row) (TrackSummary, error) {
		metric, err := schema.ParseMetric(r.Metric)
		if err != nil {
			err = fmt.Errorf("region %d: %w", r.ID, err)
		}
		return TrackSummary{r.ID, metric, r.Label, schema.InstantOf(r.First), schema.InstantOf(r.Last), int(r.Seen), schema.Severity(r.Worst), int(r.Links), r.Mean}, err
	})
}
