// Package dashboards serves the HTTP API and the web page: the fabrics' graphs,
// the newest interval as a heatmap with its regions and their forecasts, their
// history, statistics over months, and a stream that announces each interval. It
// reads everything from the store, so live, replayed and historical data look
// the same. It changes nothing.
package dashboards

import (
	"context"
	_ "embed" // for the document
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/known"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

//go:embed openapi.json
var document []byte

// Fabric is a fabric to show.
type Fabric struct {
	Graph    *topology.Graph
	Interval time.Duration
}

// Config of the dashboards.
type Config struct {
	// How often the store is queried for intervals of other processes.
	Poll time.Duration `yaml:"poll"`
	// How many intervals the timeline and the events reach back.
	History int `yaml:"history"`
	// The longest span of one query to the API.
	MaxSpan time.Duration `yaml:"max_span"`
	// How long the API may work on one answer.
	Timeout time.Duration `yaml:"timeout"`
	// Maximum number of clients of the stream.
	Streams int `yaml:"streams"`
	// Maximum number of streams of one client.
	StreamsPerClient int `yaml:"streams_per_client"`
	// After this time without an interval the stream sends a comment.
	Heartbeat time.Duration `yaml:"heartbeat"`
}

// DefaultConfig shows the last 240 intervals, polls for new ones once a second and
// allows queries over half a year.
func DefaultConfig() Config {
	return Config{Poll: time.Second, History: 240, MaxSpan: 184 * 24 * time.Hour, Timeout: time.Minute, Streams: 256, StreamsPerClient: 16, Heartbeat: 15 * time.Second}
}

// Validate reports all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Poll >= 10*time.Millisecond, "poll", "%v: want at least 10ms", c.Poll)
	f.Check(c.History >= 1 && c.History <= 10_000, "history", "%d: want 1 to 10000 intervals", c.History)
	f.Check(c.MaxSpan >= time.Minute, "max_span", "%v: want at least 1m", c.MaxSpan)
	f.Check(c.Streams >= 1, "streams", "%d: want at least 1", c.Streams)
	f.Check(c.StreamsPerClient >= 1, "streams_per_client", "%d: want at least 1", c.StreamsPerClient)
	f.Check(c.Heartbeat >= 10*time.Millisecond, "heartbeat", "%v: want at least 10ms", c.Heartbeat)
	f.Check(c.Timeout >= time.Second, "timeout", "%v: want at least 1s", c.Timeout)
	return f.Err()
}

// Deps are the dependencies of Dashboards. All but Workloads and Owner are required.
type Deps struct {
	Model      *read.Model
	Scores     score.Config           // how congestion is converted to a node's score
	Workloads  []known.WorkloadConfig // known workloads of jobs
	Log        *slog.Logger
	Registerer prometheus.Registerer

	// Owner says which process should analyse a fabric, and why none does, for example because Kafka is away; nil: not known.
	Owner func(ctx context.Context, fabric string) (text string, away bool)
}

// Dashboards answers the operations of the API: those of its methods that the rows of endpoints name.
type Dashboards struct {
	cfg       Config
	log       *slog.Logger
	model     *read.Model
	order     []*fabric
	fabrics   map[string]*fabric // by name
	metrics   *metrics
	scores    score.Config
	slowHosts slowHosts
	owner     func(ctx context.Context, fabric string) (text string, away bool) // nil: not known
	intervals *announcer
	streams   *streamLimit
}

type fabric struct {
	name     string
	interval time.Duration
	graphs   graphs
	watch    atomic.Pointer[watcher]   // nil if this process does not analyse the fabric
	fedAt    atomic.Pointer[time.Time] // when Put last announced one of its intervals; nil: never
	polled   time.Time                 // time of Run's last poll of the store
	scoring  chan struct{}             // semaphore: holds one value during a query for scores, which guards scored
	scored   scored                    // the scores of the last query
}

// New returns dashboards of the given fabrics, shown in that order.
func New(cfg Config, fabrics []Fabric, deps Deps) (*Dashboards, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("dashboards: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	d := &Dashboards{cfg: cfg, log: deps.Log, model: deps.Model, fabrics: map[string]*fabric{}, metrics: m, scores: deps.Scores, slowHosts: slowHosts{deps.Model, deps.Workloads}, owner: deps.Owner,
		intervals: newAnnouncer(m.missed), streams: newStreamLimit(&cfg, m.refused)}
	for _, f := range fabrics {
		own := &fabric{name: f.Graph.Fabric(), interval: f.Interval, scoring: make(chan struct{}, 1)}
		own.graphs = graphs{fabric: own.name, model: deps.Model, inForce: f.Graph, old: map[read.Version]*topology.Graph{}}
		d.order = append(d.order, own)
		d.fabrics[own.name] = own
	}
	return d, nil
}

// watcher returns the current state of a fabric, and whether this process analyses it now. If it does not, another one does,
// or none.
type watcher func() (state schema.NetworkForecast, analysed bool)

// Watch sets the source of a fabric's current state. Without it, or while the process is on standby, only the age of what is
// stored is known. Call it before Run.
func (d *Dashboards) Watch(fabric string, state watcher) {
	if f := d.fabrics[fabric]; f != nil {
		f.watch.Store(&state)
	}
}

// watched returns what this process knows of a fabric's current state; false if it does not analyse it.
func (f *fabric) watched() (schema.NetworkForecast, bool) {
	watch := f.watch.Load()
	if watch == nil {
		return schema.NetworkForecast{}, false
	}
	return (*watch)()
}

// Register adds the page and the API to mux.
func (d *Dashboards) Register(mux *http.ServeMux) {
	mux.Handle("/", page(assets()))
	mux.HandleFunc("/feedback/", notOfSchedulers)
	server := operation.Server[*Dashboards]{Of: d, Prefix: Prefix, Rows: endpoints(), Timeout: d.cfg.Timeout, Explain: explain, Observe: d.observe}
	server.Register(mux)
}

// page serves the static files, with GET and HEAD only.
func page(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			problem.Method(r, "GET, HEAD").Write(w)
			return
		}
		files.ServeHTTP(w, r)
	})
}

// notOfSchedulers answers requests below /feedback/ that have no handler: the method or path is not one that a scheduler
// uses, or the extender is not enabled in this process.
func notOfSchedulers(w http.ResponseWriter, r *http.Request) {
	problem.New(http.StatusNotFound, "%s %s is not served here: kube-scheduler sends POST to /feedback/kubernetes/filter and /feedback/kubernetes/prioritize, which analyze and up serve if feedback.kubernetes.extender is enabled", r.Method, r.URL.Path).Write(w)
}
