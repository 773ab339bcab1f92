package feedback

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons why no action is taken on an interval.
const (
	skippedPast    = "past"            // an analysis that catches up: it ended longer ago than Deps.MaxAge
	skippedVersion = "unknown_version" // the version of its fabric is not among the last ones that were loaded
)

func newSkipped(reg prometheus.Registerer) (*prometheus.CounterVec, error) {
	skipped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_feedback_intervals_skipped_total", Help: "Intervals on which no action is taken, by reason; webhooks take every interval."}, []string{"reason"})
	for _, reason := range []string{skippedPast, skippedVersion} {
		skipped.WithLabelValues(reason)
	}
	if err := reg.Register(skipped); err != nil {
		return nil, fmt.Errorf("feedback metrics: %w", err)
	}
	return skipped, nil
}
