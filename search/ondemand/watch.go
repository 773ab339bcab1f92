package ondemand

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// Counters read what an adapter has sent and received, in bytes.
type Counters interface {
	DataBytes(adapter string) (uint64, error)
}

// watch looks, between experiments, at whether others use the adapter, and counts the traffic of the search.
type watch struct {
	cfg      *Config
	counters Counters
	adapter  string // empty: there is none to watch
	limit    float64
	stop     context.CancelCauseFunc // of the search

	measuring sync.RWMutex // held for reading by experiments, for writing while the adapter is watched

	mu    sync.Mutex
	last  time.Time // guarded by mu; when the adapter was watched
	moved float64   // guarded by mu; gigabytes
}

// confirmations: so many windows in a row must show others.
const confirmations = 2

// before an experiment: it returns an error once others use the adapter. Experiments of other pairs end first.
func (w *watch) before(ctx context.Context) error {
	if w.adapter == "" || w.cfg.OthersGbps == 0 {
		return ctx.Err()
	}
	w.measuring.Lock()
	defer w.measuring.Unlock()
	w.mu.Lock()
	due := w.last.IsZero() || time.Since(w.last) >= w.cfg.WatchEvery
	w.mu.Unlock()
	if !due {
		return ctx.Err()
	}
	rate := 0.
	for range confirmations {
		var err error
		if rate, err = w.rate(ctx); err != nil {
			return err
		}
		if rate <= w.cfg.OthersGbps {
			w.mu.Lock()
			w.last = time.Now()
			w.mu.Unlock()
			return nil
		}
	}
	err := command.Cancelled("stopped: others move %.2f Gb/s over %s while no experiment runs, search.offer.others_gbps is %g", rate, w.adapter, w.cfg.OthersGbps)
	w.stop(err)
	return err
}

// rate of the adapter over one window, Gb/s, both directions together.
func (w *watch) rate(ctx context.Context) (float64, error) {
	first, err := w.counters.DataBytes(w.adapter)
	if err != nil {
		return 0, w.blind(err)
	}
	began := time.Now()
	if !retry.Sleep(ctx, w.cfg.WatchFor) {
		return 0, ctx.Err()
	}
	second, err := w.counters.DataBytes(w.adapter)
	if err != nil {
		return 0, w.blind(err)
	}
	if second < first { // the driver was loaded again
		return 0, nil
	}
	const bitsPerByte = 8
	return float64(second-first) * bitsPerByte / time.Since(began).Seconds() / 1e9, nil
}

// blind ends the search: whom it disturbs cannot be seen.
func (w *watch) blind(err error) error {
	err = command.Cancelled("stopped: the counters of %s cannot be read, and so not who else uses it: %v", w.adapter, err)
	w.stop(err)
	return err
}

// after an experiment: the search ends when it has moved what it may.
func (w *watch) after(m *search.Measurement) {
	const gigabitsPerGigabyte = 8
	w.mu.Lock()
	for _, d := range m.Directions {
		w.moved += d.Gbps * m.Seconds / gigabitsPerGigabyte
	}
	moved := w.moved
	w.mu.Unlock()
	if moved > w.limit {
		w.stop(command.Cancelled("stopped: %.0f GB moved, the limit is %.0f GB", moved, w.limit))
	}
}

func (w *watch) gigabytes() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved
}

// watched is an engine whose experiments are kept apart from the looks at the adapter.
type watched struct {
	engine.Engine
	watch *watch
}

// Measure looks at the adapter first.
func (e *watched) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if err := e.watch.before(ctx); err != nil {
		return search.Measurement{}, fmt.Errorf("watch: %w", err)
	}
	e.watch.measuring.RLock()
	defer e.watch.measuring.RUnlock()
	m, err := e.Engine.Measure(ctx, id, w)
	if err == nil {
		e.watch.after(&m)
	}
	return m, err
}
