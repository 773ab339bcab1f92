package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// health is the state of the parts of one fabric: a part works, or has failed
// and is retried.
type health struct {
	fabric  string
	metrics *Metrics
	log     *slog.Logger

	mu     sync.Mutex // guards faults
	faults map[string]error
}

func newHealth(fabric string, m *Metrics, log *slog.Logger) *health {
	return &health{fabric: fabric, metrics: m, log: log, faults: map[string]error{}}
}

// failed records a fault. A repeated fault is logged once.
func (h *health) failed(part string, err error, pause time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, again := h.faults[part]
	h.faults[part] = err
	h.metrics.faults.WithLabelValues(h.fabric, part).Inc()
	h.metrics.up.WithLabelValues(h.fabric, part).Set(0)
	level := slog.LevelError
	if again && before.Error() == err.Error() {
		level = slog.LevelDebug
	}
	h.log.Log(context.Background(), level, "pipeline: part failed, retrying", "part", part, "pause", pause, "error", err)
}

// state records whether a part is in order, for a part that runs in either case.
func (h *health) state(part string, err error) {
	if err == nil {
		h.up(part)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before, again := h.faults[part]
	h.faults[part] = err
	h.metrics.up.WithLabelValues(h.fabric, part).Set(0)
	if !again || before.Error() != err.Error() {
		h.metrics.faults.WithLabelValues(h.fabric, part).Inc()
		h.log.Error("pipeline: part failed", "part", part, "error", err)
	}
}

// upUnlessFailing marks a part as working: immediately if it has not failed
// before, otherwise when it has run for worksAfter without a call of fails.
func (h *health) upUnlessFailing(part string) (fails func()) {
	h.mu.Lock()
	_, failed := h.faults[part]
	h.mu.Unlock()
	if !failed {
		h.up(part)
		return func() {}
	}
	timer := time.AfterFunc(worksAfter, func() { h.up(part) })
	return func() { timer.Stop() }
}

// up marks a part as working.
func (h *health) up(part string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metrics.up.WithLabelValues(h.fabric, part).Set(1)
	if _, was := h.faults[part]; was {
		delete(h.faults, part)
		h.log.Info("pipeline: part works again", "part", part)
	}
}

// rest clears the faults of parts that do not run at present.
func (h *health) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for part := range h.faults {
		h.metrics.up.WithLabelValues(h.fabric, part).Set(1)
	}
	clear(h.faults)
}

// err returns the faults of all parts that do not work.
func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for part, err := range h.faults {
		first, _, _ := strings.Cut(err.Error(), "\n") // a panic's error contains a stack trace
		errs = append(errs, fmt.Errorf("%s: %s", part, first))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
