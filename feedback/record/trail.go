package record

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/schema"
)

// Store stores the audit. It retries until ctx ends.
type Store interface {
	StoreFeedback(ctx context.Context, fabric string, actions []schema.FeedbackAction) error
}

// Trail writes the audit: it buffers rows and stores them once a second. Recorders
// never wait for it.
type Trail struct {
	store   Store
	metrics *Metrics

	mu   sync.Mutex // guards rows
	rows []schema.FeedbackAction
}

// maxRows bounds the buffered rows; lastFlush is the time for storing the rest at
// shutdown.
const (
	maxRows   = 10_000
	flushEach = time.Second
	lastFlush = 3 * time.Second
)

// NewTrail returns the audit of a process.
func NewTrail(store Store, m *Metrics) *Trail { return &Trail{store: store, metrics: m} }

func (t *Trail) add(a schema.FeedbackAction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) >= maxRows {
		t.metrics.lost.Inc()
		return
	}
	t.rows = append(t.rows, a)
}

// Run stores rows until ctx ends, and then the rest. Those that the store does not accept in time are counted as dropped.
func (t *Trail) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEach)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			t.flush(ctx)
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	t.flush(last)
	t.metrics.lost.Add(float64(t.Waiting()))
	return nil
}

// Waiting is the number of rows that are not stored.
func (t *Trail) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// flush stores the buffered rows by fabric. Rows that fail to be stored stay in the buffer.
func (t *Trail) flush(ctx context.Context) {
	t.mu.Lock()
	rows := t.rows
	t.rows = nil
	t.mu.Unlock()
	byFabric := map[string][]schema.FeedbackAction{}
	for _, a := range rows {
		byFabric[a.Fabric] = append(byFabric[a.Fabric], a)
	}
	for fabric, list := range byFabric {
		if err := t.store.StoreFeedback(ctx, fabric, list); err == nil {
			continue
		}
		t.mu.Lock()
		t.rows = append(list, t.rows...)
		t.mu.Unlock()
	}
}
