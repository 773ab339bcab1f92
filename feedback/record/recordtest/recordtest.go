// Package recordtest gives the tests of sinks a recorder that keeps everything in memory. Input: the sink's name and its
// reasons. Output: the recorder, its audit and its metrics. It does not log.
package recordtest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
)

// Audit is a record.Store in memory. It is safe for concurrent use.
type Audit struct {
	mu   sync.Mutex // guards rows
	rows []schema.FeedbackAction
}

// StoreFeedback keeps the rows.
func (a *Audit) StoreFeedback(_ context.Context, _ string, rows []schema.FeedbackAction) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows = append(a.rows, rows...)
	return nil
}

// Rows returns the stored rows, oldest first.
func (a *Audit) Rows() []schema.FeedbackAction {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.rows)
}

// Recorder is a recorder whose audit is written while Trail runs.
type Recorder struct {
	*record.Recorder
	Trail    *record.Trail
	Audit    *Audit
	Registry *prometheus.Registry
}

// New returns the recorder of a sink.
func New(t testing.TB, sink string, reasons []string) *Recorder {
	t.Helper()
	r := &Recorder{Audit: &Audit{}, Registry: prometheus.NewRegistry()}
	metrics, err := record.NewMetrics(r.Registry)
	if err != nil {
		t.Fatal(err)
	}
	r.Trail = record.NewTrail(r.Audit, metrics)
	r.Recorder = record.New(sink, reasons, metrics, r.Trail, slog.New(slog.DiscardHandler))
	return r
}
