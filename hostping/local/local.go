// Package local probes the host that it runs on. The input is which pairs to probe and
// why, the output is what was measured and its analysis. It reads the host's graph and
// the baseline of its model from files, keeps the history of its runs, does one run at
// a time, and keeps to a share of each RNIC's time. Its users decide when to run.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/prober"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/internal/plainfile"
)

// Deps are a host's dependencies; all are required except Source.
type Deps struct {
	// Source of utilisation, with ids of a graph, for perftest; nil: the host counts as
	// idle.
	Source func(g *hostping.Graph) prober.Source
	Dir    string // folder of the history
	Log    *slog.Logger
	Now    func() time.Time
}

// Host is this host.
type Host struct {
	cfg      Config
	deps     Deps
	graph    hostping.Graph
	baseline *hostping.Baseline // nil: no file
	source   prober.Source
	share    *Share
	probing  sync.Mutex // held during a run
}

// New reads the files of a valid, enabled configuration.
func New(cfg Config, deps Deps) (*Host, error) {
	text, err := plainfile.Read(cfg.Graph)
	if err != nil {
		return nil, fmt.Errorf("hostping.host.graph: %w", err)
	}
	h := &Host{cfg: cfg, deps: deps, share: NewShare(cfg.SharePercent)}
	if h.graph, err = hostping.ReadGraph(cfg.Graph, text, hostping.Format(cfg.Format)); err != nil {
		return nil, fmt.Errorf("hostping.host.graph: %w", err)
	}
	if deps.Source != nil {
		h.source = deps.Source(&h.graph)
	}
	if cfg.Baseline == "" {
		return h, nil
	}
	if text, err = plainfile.Read(cfg.Baseline); err != nil {
		return nil, fmt.Errorf("hostping.host.baseline: %w", err)
	}
	b, err := hostping.ParseBaseline(text)
	if err == nil {
		err = b.Fits(&h.graph)
	}
	if err != nil {
		return nil, fmt.Errorf("hostping.host.baseline: %s: %w", cfg.Baseline, err)
	}
	h.baseline = &b
	return h, nil
}

// Graph returns the host's graph.
func (h *Host) Graph() *hostping.Graph { return &h.graph }

// ErrRunning means that another run is in progress.
var ErrRunning = errors.New("another run of this host is in progress")

// Order is a requested run.
type Order struct {
	order.Request
	Trigger order.Trigger
}

// Check reports what this host does not support in an order.
func (h *Host) Check(o *Order) error {
	known := func(id string) bool {
		return slices.ContainsFunc(h.graph.RNICs, func(r hostping.RNIC) bool { return r.ID == id })
	}
	switch {
	case o.Mode == order.Affinitive && !known(o.RNIC):
		return fmt.Errorf("this host has no RNIC %.80q", o.RNIC)
	case o.Mode != order.Baseline && h.baselineOf(o) == nil:
		return fmt.Errorf("no baseline of model %s: measure one on idle hosts of this model (giverny hostping launch --baseline), or name a file in hostping.host.baseline", h.graph.Model)
	case o.Mode != order.Baseline:
		return h.baselineOf(o).Fits(&h.graph)
	}
	return nil
}

// baselineOf returns the host's own baseline, otherwise the order's.
func (h *Host) baselineOf(o *Order) *hostping.Baseline {
	if h.baseline != nil {
		return h.baseline
	}
	return o.Baseline
}

// Outcome returns an order's outcome without results.
func (h *Host) Outcome(o *Order) order.Outcome {
	return order.Outcome{Trigger: o.Trigger, Mode: o.Mode, Region: o.Region, Model: h.graph.Model}
}

// Run probes the host. It returns ErrRunning if another run is in progress.
func (h *Host) Run(ctx context.Context, o *Order) (out order.Outcome, err error) {
	if err := h.Check(o); err != nil {
		return out, err
	}
	if !h.probing.TryLock() {
		return out, ErrRunning
	}
	defer h.probing.Unlock()
	began := h.deps.Now()
	out = h.Outcome(o)
	p, err := h.open()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	options := run.Options{Graph: h.graph, Prober: &metered{p, h.share, h.deps.Now}, Now: h.deps.Now, ProbeTimeout: h.cfg.ProbeTimeout,
		Timeout: h.timeout(o), Pause: h.cfg.Pause}
	if o.Mode == order.Baseline {
		b, missing, err := run.TakeBaseline(ctx, options)
		if err != nil {
			return out, err
		}
		for _, u := range missing {
			h.deps.Log.Warn("hostping: pair not measured", "rnic", u.RNIC, "endpoint", u.Endpoint, "reason", u.Reason)
		}
		out.Baseline, out.Seconds = &b, h.deps.Now().Sub(began).Seconds()
		return out, nil
	}
	options.Baseline = *h.baselineOf(o)
	if o.Mode == order.Affinitive {
		options.Trigger = o.RNIC
	}
	history, err := ReadHistory(h.deps.Dir)
	if err != nil {
		h.deps.Log.Warn("hostping: history not readable, starting over", "error", err)
	}
	options.History = &history
	report, err := run.Run(ctx, options)
	if err != nil {
		return out, err
	}
	out.Report, out.Graph, out.Probes, out.Seconds = &report, &h.graph, report.Probes, h.deps.Now().Sub(began).Seconds()
	return out, WriteHistory(h.deps.Dir, &history)
}

// timeout is the shorter of the order's and this host's.
func (h *Host) timeout(o *Order) time.Duration {
	if o.DurationSeconds > 0 {
		return min(h.cfg.Timeout, time.Duration(o.DurationSeconds*float64(time.Second)))
	}
	return h.cfg.Timeout
}

func (h *Host) open() (run.Prober, error) {
	if h.cfg.Prober == kindExec {
		return prober.NewExec(prober.DefaultExecConfig(h.cfg.Command), h.deps.Log)
	}
	return prober.NewPerftest(h.cfg.Perftest, h.source, h.deps.Log)
}
