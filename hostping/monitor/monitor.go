// Package monitor decides when a host probes itself (Hostping, section 4.2): every pair
// every 5 minutes while it is idle; the pairs of an RNIC at once when that RNIC pauses
// its network or drops packets. The input is the counters of RNICs and the use of GPUs,
// the output is reports of runs. It is off by default. Package local makes the runs.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/utilisation"
	"github.com/giverny/giverny/internal/faults"
)

// Config says when this host probes itself.
type Config struct {
	// Probe this host automatically.
	Enabled bool `yaml:"enabled"`
	// Interval at which the counters of RNICs are read.
	CheckEvery time.Duration `yaml:"check_every"`
	// Interval at which every pair is probed while the host is idle.
	IdleEvery time.Duration `yaml:"idle_every"`
	// A host is idle while all its GPUs are idle and no RNIC has more traffic than this, in percent of its line rate.
	IdlePercent float64 `yaml:"idle_percent"`
	// The pairs of an RNIC are probed at once if it pauses its network for more than this, in percent of time.
	PausePercent float64 `yaml:"pause_percent"`
	// How long after triggering a run an RNIC does not trigger another.
	HoldOff time.Duration `yaml:"hold_off"`
}

// DefaultConfig has the paper's thresholds (section 5), and is off.
func DefaultConfig() Config {
	return Config{CheckEvery: time.Second, IdleEvery: 5 * time.Minute, IdlePercent: 5, PausePercent: 3, HoldOff: 5 * time.Minute}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.CheckEvery > 0, "check_every", "%v: want a positive duration", c.CheckEvery)
	f.Check(c.IdleEvery >= c.CheckEvery, "idle_every", "%v: want check_every or more", c.IdleEvery)
	f.Check(c.IdlePercent > 0 && c.IdlePercent <= 100, "idle_percent", "%g: want above 0, up to 100", c.IdlePercent)
	f.Check(c.PausePercent > 0 && c.PausePercent <= 100, "pause_percent", "%g: want above 0, up to 100", c.PausePercent)
	f.Check(c.HoldOff > 0, "hold_off", "%v: want a positive duration", c.HoldOff)
	return f.Err()
}

// Host is the host to probe: a *local.Host.
type Host interface {
	Graph() *hostping.Graph
	Run(ctx context.Context, o *local.Order) (order.Outcome, error)
}

// Deps are a monitor's dependencies. All are required.
type Deps struct {
	Host  Host
	RNICs interface {
		Read(device string) (utilisation.Reading, error)
	}
	Source interface { // of the GPUs' use
		Read(ctx context.Context) (hostping.Utilisation, error)
	}
	// Report publishes the outcome of a run.
	Report     func(ctx context.Context, out order.Outcome) error
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Monitor monitors one host.
type Monitor struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	last    map[string]utilisation.Reading
	failing map[string]bool // RNICs with unreadable counters, to log this once
}

// New returns a monitor for a valid configuration; Run starts it.
func New(cfg Config, deps Deps) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("hostping.monitor: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("hostping.monitor: %w", err)
	}
	return &Monitor{cfg: cfg, deps: deps, metrics: m, last: map[string]utilisation.Reading{}, failing: map[string]bool{}}, nil
}

// Run watches the host until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	ticker := time.NewTicker(m.cfg.CheckEvery)
	defer ticker.Stop()
	decider := NewDecider(m.cfg, m.deps.Now())
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		due, skipped := decider.Step(m.deps.Now(), m.changes())
		if skipped != "" {
			m.metrics.skipped.WithLabelValues(skipped).Inc()
		}
		if due == nil || due.Trigger == order.IdleHost && !m.gpusIdle(ctx) {
			continue
		}
		m.probe(ctx, due)
		m.last = map[string]utilisation.Reading{} // ignore the traffic of the probes
	}
}

// changes returns the changes of all RNICs that could be read now and before.
func (m *Monitor) changes() map[string]utilisation.Change {
	changes := map[string]utilisation.Change{}
	for _, r := range m.deps.Host.Graph().RNICs {
		reading, err := m.deps.RNICs.Read(r.ID)
		if err != nil {
			if !m.failing[r.ID] {
				m.deps.Log.Warn("hostping: counters of an RNIC not readable", "rnic", r.ID, "error", err)
			}
			m.failing[r.ID] = true
			delete(m.last, r.ID)
			changes[r.ID] = utilisation.Change{Share: -1}
			continue
		}
		m.failing[r.ID] = false
		if before, known := m.last[r.ID]; known {
			changes[r.ID] = reading.Since(before)
		}
		m.last[r.ID] = reading
	}
	return changes
}

// gpusIdle reports whether all GPUs are known to be idle.
func (m *Monitor) gpusIdle(ctx context.Context) bool {
	gpus := 0
	for _, e := range m.deps.Host.Graph().Endpoints {
		if e.Kind == hostping.GPU {
			gpus++
		}
	}
	if gpus == 0 {
		return true
	}
	u, err := m.deps.Source.Read(ctx)
	switch {
	case len(u.GPUs) < gpus:
		m.metrics.skipped.WithLabelValues(skippedUnreadable).Inc()
		m.deps.Log.Debug("hostping: run skipped, the utilisation of the GPUs is unknown", "known", len(u.GPUs), "gpus", gpus, "error", err)
		return false
	case hostping.StateOf(&u) == hostping.Busy:
		m.metrics.skipped.WithLabelValues(skippedBusy).Inc()
		return false
	}
	return true
}

// probe makes a run and reports it.
func (m *Monitor) probe(ctx context.Context, due *Decision) {
	o := &local.Order{Request: order.Request{Mode: order.Full}, Trigger: due.Trigger}
	if due.RNIC != "" {
		o.Mode, o.RNIC = order.Affinitive, due.RNIC
	}
	out, err := m.deps.Host.Run(ctx, o)
	outcome := outcomeHealthy
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, local.ErrRunning):
		m.metrics.skipped.WithLabelValues(skippedRunning).Inc()
		return
	case err != nil && out.Report == nil:
		m.metrics.runs.WithLabelValues(string(due.Trigger), outcomeFailed).Inc()
		m.deps.Log.Warn("hostping: run failed", "trigger", due.Trigger, "rnic", due.RNIC, "error", err)
		return
	case err != nil:
		m.deps.Log.Warn("hostping: run completed with an error", "error", err)
	}
	if len(out.Report.Verdicts) > 0 {
		outcome = outcomeVerdict
		m.deps.Log.Warn("hostping: bottleneck found", "trigger", due.Trigger, "rnic", due.RNIC, "verdict", out.Report.Verdicts[0].Text)
	}
	m.metrics.runs.WithLabelValues(string(due.Trigger), outcome).Inc()
	if err := m.deps.Report(ctx, out); err != nil {
		m.metrics.lost.Inc()
		m.deps.Log.Warn("hostping: report dropped", "error", err)
	}
}
