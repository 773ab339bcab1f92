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

// Counters reads the bytes that an adapter has sent and received.
type Counters interface {
	DataBytes(adapter string) (uint64, error)
}

// watch serialises the experiments on the adapter, checks between them whether others use it, and counts the search's
// traffic.
type watch struct {
	cfg      *Config
	counters Counters // nil: other traffic is not checked
	adapter  string   // empty: the experiments use no adapter of this host
	limit    float64
	stop     context.CancelCauseFunc // of the search

	measuring sync.Mutex
	last      time.Time // guarded by measuring; time of the last check

	mu    sync.Mutex
	moved float64 // guarded by mu; gigabytes
}

// confirmations is how many consecutive windows must show other traffic.
const confirmations = 2

// before runs before an experiment: it returns an error if others use the adapter.
func (w *watch) before(ctx context.Context) error {
	if w.counters == nil || w.cfg.OthersGbps == 0 || time.Since(w.last) < w.cfg.WatchEvery {
		return ctx.Err()
	}
	rate := 0.
	for range confirmations {
		var err error
		if rate, err = w.rate(ctx); err != nil {
			return err
		}
		if rate <= w.cfg.OthersGbps {
			w.last = time.Now()
			return nil
		}
	}
	err := command.Cancelled("stopped: others move %.2f Gb/s over %s while no experiment runs, search.offer.others_gbps is %g", rate, w.adapter, w.cfg.OthersGbps)
	w.stop(err)
	return err
}

// resets is how often a window is repeated because the counters decreased in it.
const resets = 3

// rate of the adapter over one window, in Gb/s, both directions added. A window in which the counters decreased, as when
// the driver was reloaded, says nothing and is repeated.
func (w *watch) rate(ctx context.Context) (float64, error) {
	first, err := w.counters.DataBytes(w.adapter)
	if err != nil {
		return 0, w.blind(err)
	}
	for range 1 + resets {
		began := time.Now()
		if !retry.Sleep(ctx, w.cfg.WatchFor) {
			return 0, ctx.Err()
		}
		second, err := w.counters.DataBytes(w.adapter)
		if err != nil {
			return 0, w.blind(err)
		}
		if second >= first {
			const bitsPerByte = 8
			return float64(second-first) * bitsPerByte / time.Since(began).Seconds() / 1e9, nil
		}
		first = second
	}
	return 0, w.blind(fmt.Errorf("they decreased in %d consecutive windows of %s", 1+resets, w.cfg.WatchFor))
}

// blind ends the search, since it cannot be seen whom it disturbs.
func (w *watch) blind(err error) error {
	err = command.Cancelled("stopped: the counters of %s cannot be read, so other traffic on it cannot be detected: %v", w.adapter, err)
	w.stop(err)
	return err
}

// after runs after an experiment: it ends the search if the traffic limit is reached.
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

// watched is an engine with exclusive use of the adapter during experiments; all pairs of a search share it.
type watched struct {
	engine.Engine
	watch *watch
}

// Measure checks the adapter first.
func (e *watched) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if e.watch.adapter != "" {
		e.watch.measuring.Lock()
		defer e.watch.measuring.Unlock()
		if err := e.watch.before(ctx); err != nil {
			return search.Measurement{}, fmt.Errorf("watch: %w", err)
		}
	}
	m, err := e.Engine.Measure(ctx, id, w)
	if err == nil {
		e.watch.after(&m)
	}
	return m, err
}
