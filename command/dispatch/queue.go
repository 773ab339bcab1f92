package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
)

// considerAgain is the hold-off time of a root after it was considered, whether acted on or not, since diagnoses
// repeat with every interval.
const considerAgain = 10 * time.Minute

// Queue delivers diagnoses of slow hosts one at a time. It is a sink of results that never blocks and never delays
// them.
type Queue struct {
	name    string
	cfg     PolicyConfig
	fabrics map[string]bool
	record  *record.Recorder
	now     func() time.Time
	queue   chan schema.Diagnosis

	mu         sync.Mutex
	considered map[rootKey]time.Time // guarded by mu
}

type rootKey struct{ fabric, device, peer string }

// NewQueue returns a queue for diagnoses of some fabrics.
func NewQueue(name string, cfg PolicyConfig, fabrics []string, rec *record.Recorder, now func() time.Time) *Queue {
	q := &Queue{name: name, cfg: cfg, fabrics: map[string]bool{}, record: rec, now: now, queue: make(chan schema.Diagnosis, 1), considered: map[rootKey]time.Time{}}
	for _, f := range fabrics {
		q.fabrics[f] = true
	}
	return q
}

// Name returns the name of the sink.
func (q *Queue) Name() string { return q.name }

// Put queues the first eligible diagnosis of an interval.
func (q *Queue) Put(_ context.Context, r *schema.IntervalResult) error {
	for i := range r.Diagnoses {
		d := r.Diagnoses[i]
		if d.Cause.Class != schema.CauseSlowHost || d.Cause.Confidence < q.cfg.Confidence || d.Root == nil || !q.fabrics[d.Fabric] {
			continue
		}
		key := rootKey{d.Fabric, d.Root.Device, d.Root.Peer}
		if !q.due(key) {
			continue
		}
		select {
		case q.queue <- d:
		default:
			q.record.Dropped(RefusedBusy, 1)
			q.forget(key)
		}
	}
	return nil
}

func (q *Queue) due(key rootKey) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if last, seen := q.considered[key]; seen && now.Sub(last) < considerAgain {
		return false
	}
	for k, at := range q.considered {
		if now.Sub(at) >= considerAgain {
			delete(q.considered, k)
		}
	}
	q.considered[key] = now
	return true
}

func (q *Queue) forget(key rootKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.considered, key)
}

// Each plans a launch for each diagnosis in turn, and sends those that are not refused, until ctx ends.
func (q *Queue) Each(ctx context.Context, plan func(context.Context, schema.Diagnosis) (Launch, error)) error {
	for {
		select {
		case d := <-q.queue:
			q.act(ctx, d, plan)
		case <-ctx.Done():
			return nil
		}
	}
}
