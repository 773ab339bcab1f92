// Package dashboards serves the HTTP API and the web page: the fabrics' graphs,
// the newest interval as a heatmap with its regions and where they are heading,
// their history, what months of them add up to, and a stream that announces each
// interval. All it shows is read back from the
// store, so live, replayed and historical data look the same. It changes
// nothing.
package dashboards

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

//go:embed web
var web embed.FS

// Stored is one completed interval as the store has it.
type Stored struct {
	Interval       schema.Interval
	LatencySeconds float64 // from the last counter read to the completion of the store
}

// StateAt is the number of regions by severity in one interval, all metrics
// together.
type StateAt struct {
	StartNanos        int64
	State             schema.Severity
	Low, Medium, High int
}

// Records is what the dashboards read; the store provides it.
type Records interface {
	Months
	// Latest is the newest completed interval; false if there is none yet.
	Latest(ctx context.Context, fabric string) (Stored, bool, error)
	// Snapshot is the measured values of an interval, links long at most.
	Snapshot(ctx context.Context, fabric string, start int64) (*schema.Snapshot, error)
	// Regions of an interval.
	Regions(ctx context.Context, fabric string, start int64) ([]schema.Region, error)
	// States of the intervals from a start on, in order of time.
	States(ctx context.Context, fabric string, from int64) ([]StateAt, error)
	// Events from an instant on, in order of time.
	Events(ctx context.Context, fabric string, from int64) ([]schema.Event, error)
	// Tracking is what is known over time in an interval.
	Tracking(ctx context.Context, fabric string, start int64) (Tracking, error)
}

// Fabric is a fabric to be shown.
type Fabric struct {
	Graph    *topology.Graph
	Interval time.Duration
}

// Config of the dashboards.
type Config struct {
	// How often the store is asked for new intervals.
	Poll time.Duration `yaml:"poll"`
	// How many intervals the timeline and the events reach back.
	History int `yaml:"history"`
}

// DefaultConfig shows the last 240 intervals and looks for new ones four times a
// second.
func DefaultConfig() Config { return Config{Poll: 250 * time.Millisecond, History: 240} }

// Validate joins all faults.
func (c Config) Validate() error {
	var errs []error
	if c.Poll < 10*time.Millisecond {
		errs = append(errs, fmt.Errorf("poll: %v: want at least 10ms", c.Poll))
	}
	if c.History < 1 || c.History > 10_000 {
		errs = append(errs, fmt.Errorf("history: %d: want 1 to 10000 intervals", c.History))
	}
	return errors.Join(errs...)
}

// Dashboards holds the graphs and the listeners of the stream.
type Dashboards struct {
	cfg     Config
	log     *slog.Logger
	records Records
	order   []string
	fabrics map[string]Fabric
	metrics *metrics

	mu        sync.Mutex // guards latest and listeners
	latest    map[string]int64
	listeners map[chan announcement]struct{}
}

type announcement struct {
	Fabric     string `json:"fabric"`
	StartNanos int64  `json:"start_nanos"`
}

// New makes dashboards of the given fabrics, shown in that order.
func New(cfg Config, fabrics []Fabric, records Records, reg Registerer, log *slog.Logger) (*Dashboards, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("dashboards: %w", err)
	}
	d := &Dashboards{cfg: cfg, log: log, records: records, fabrics: map[string]Fabric{}, metrics: newMetrics(reg),
		latest: map[string]int64{}, listeners: map[chan announcement]struct{}{}}
	for _, f := range fabrics {
		d.order = append(d.order, f.Graph.Fabric())
		d.fabrics[f.Graph.Fabric()] = f
	}
	return d, nil
}

// Register adds the page and the API to mux.
func (d *Dashboards) Register(mux *http.ServeMux) {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux.Handle("GET /", http.FileServerFS(files))
	api := func(pattern string, h func(*http.Request) (any, error)) {
		mux.Handle("GET /api/v1/"+pattern, d.answer(pattern, h))
	}
	api("fabrics", d.listFabrics)
	api("fabrics/{fabric}/links", d.listLinks)
	api("fabrics/{fabric}/now", d.now)
	api("fabrics/{fabric}/history", d.history)
	api("fabrics/{fabric}/transitions", d.transitions)
	api("fabrics/{fabric}/congestion", d.congestion)
	api("fabrics/{fabric}/hotspots", d.hotspots)
	api("fabrics/{fabric}/forecasts", d.forecasts)
	mux.HandleFunc("GET /api/v1/stream", d.stream)
}

// Run asks the store for new intervals and announces them, until ctx is
// cancelled.
func (d *Dashboards) Run(ctx context.Context) error {
	tick := time.NewTicker(d.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, name := range d.order {
			d.look(ctx, name)
		}
	}
}

func (d *Dashboards) look(ctx context.Context, fabric string) {
	stored, ok, err := d.records.Latest(ctx, fabric)
	if err != nil {
		if ctx.Err() == nil {
			d.metrics.pollErrors.Inc()
			d.log.Debug("newest interval not read", "fabric", fabric, "error", err)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if start := stored.Interval.StartNanos; ok && start > d.latest[fabric] {
		d.latest[fabric] = start
		for l := range d.listeners {
			select {
			case l <- announcement{fabric, start}:
			default:
				d.metrics.missed.Inc() // a slow page asks for the newest anyway
			}
		}
	}
}
