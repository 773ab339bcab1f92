package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/reload"
	"github.com/giverny/giverny/topology"
)

// topologyFile is the file of a fabric's topology, and the consumers of new versions.
type topologyFile struct {
	fabric string
	path   string // empty: a specification, which never changes
	graph  *topology.Graph
	read   func(previous *topology.Graph) (*topology.Graph, error)
	take   []func(*topology.Graph) error
	keep   func(*topology.Graph) // stores a version that has come into force

	seen, loaded reload.Stamp
	fault        atomic.Pointer[string] // why the current file is not in force; nil: it is
}

// State says why the current file is not in force; empty: it is.
func (f *topologyFile) State() string {
	if fault := f.fault.Load(); fault != nil {
		return *fault
	}
	return ""
}

// refuse records why the file is not in force.
func (f *topologyFile) refuse(err error) {
	fault := stale(err)
	f.fault.Store(&fault)
}

// topologyWatcher reloads topologies at run time: when a file has changed and then was
// unchanged for one more check (debounce), and immediately on SIGHUP. A file that
// cannot be read changes nothing.
type topologyWatcher struct {
	files   []*topologyFile
	log     *slog.Logger
	hangup  chan os.Signal
	taken   *prometheus.CounterVec
	refused *prometheus.CounterVec
	stale   *prometheus.GaugeVec
}

// lookEvery is the interval of checking the files.
const lookEvery = 5 * time.Second

// newTopologyWatcher returns a watcher. From now on SIGHUP does not end the process, also not while it stops.
func newTopologyWatcher(files []*topologyFile, log *slog.Logger, reg prometheus.Registerer) (*topologyWatcher, error) {
	var errs []error
	counter := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"fabric"})
		errs = append(errs, reg.Register(c))
		return c
	}
	w := &topologyWatcher{files: files, log: log, hangup: make(chan os.Signal, 1),
		taken:   counter("giverny_topology_changes_total", "New versions of a fabric's topology that were loaded."),
		refused: counter("giverny_topology_refused_total", "Changed topology files that could not be read or used; the previous version stays in force."),
		stale:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_topology_stale", Help: "1 while a fabric's topology file is rejected and the previous version stays in force."}, []string{"fabric"})}
	if err := errors.Join(append(errs, reg.Register(w.stale))...); err != nil {
		return nil, fmt.Errorf("topology metrics: %w", err)
	}
	signal.Notify(w.hangup, syscall.SIGHUP)
	for _, f := range files {
		w.taken.WithLabelValues(f.fabric)
		w.refused.WithLabelValues(f.fabric)
		if f.State() != "" { // at the start
			w.refused.WithLabelValues(f.fabric).Inc()
		}
		w.show(f)
		if f.path != "" {
			f.loaded, _ = reload.StampOf(f.path) // on error, the file counts as changed once it can be read
			f.seen = f.loaded
		}
	}
	return w, nil
}

// Run watches until ctx is cancelled.
func (w *topologyWatcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.hangup:
			for _, f := range w.files {
				w.reload(f)
			}
		case <-ticker.C:
			for _, f := range w.files {
				w.look(f)
			}
		}
	}
}

// look reloads a file that has changed and is no longer being written.
func (w *topologyWatcher) look(f *topologyFile) {
	if f.path == "" {
		return
	}
	mark, _ := reload.StampOf(f.path) // a missing file has the zero Stamp
	settled := mark == f.seen
	f.seen = mark
	if settled && mark != f.loaded {
		w.reload(f)
	}
}

// show updates the metric that shows whether the file is rejected.
func (w *topologyWatcher) show(f *topologyFile) {
	stale := 0.
	if f.State() != "" {
		stale = 1
	}
	w.stale.WithLabelValues(f.fabric).Set(stale)
}

func (w *topologyWatcher) reload(f *topologyFile) {
	if f.path == "" {
		return
	}
	defer w.show(f)
	log := w.log.With("fabric", f.fabric, "file", f.path)
	f.loaded = f.seen
	if mark, err := reload.StampOf(f.path); err == nil {
		f.seen, f.loaded = mark, mark
	}
	var g *topology.Graph
	err := plainfile.Check(f.path)
	if err == nil {
		g, err = f.read(f.graph)
	}
	if err == nil && g.Version() == f.graph.Version() {
		f.fault.Store(nil)
		log.Info("topology: file read again, nothing changed")
		return
	}
	for _, take := range f.take {
		if err == nil {
			err = take(g)
		}
	}
	if err != nil {
		w.refused.WithLabelValues(f.fabric).Inc()
		f.refuse(err)
		log.Error("topology: new file rejected, the previous version stays in force", "error", err)
		return
	}
	change := topology.Diff(f.graph, g)
	f.graph = g
	f.fault.Store(nil)
	f.keep(g)
	w.taken.WithLabelValues(f.fabric).Inc()
	log.Info("topology: new version loaded, in force from the next interval on", "change", change.String())
}
