package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
)

// Process is one running giverny: the shared infrastructure and the parts that a role
// may need. Parts are created first and started by Run.
type Process struct {
	cfg     config.Config
	version string
	log     *slog.Logger
	ops     *ops.Ops
	mux     *http.ServeMux

	registerer prometheus.Registerer // for the parts' metrics

	engine *engine.Engine   // nil without an embedded store
	broker *embedded.Broker // nil without an embedded broker
	client *kafka.Client
	db     *store.DB
	groups []*kafka.Coordinator // that newCoordinator made

	analyst func(context.Context) error // serves analysts; nil if disabled
}

// New returns a process without parts. version is the program's.
func New(cfg config.Config, version string, log *slog.Logger) *Process {
	p := &Process{cfg: cfg, version: version, log: log, ops: ops.New(version), mux: http.NewServeMux()}
	p.registerer = p.ops.Registry
	p.ops.RegisterHealth(p.mux)
	return p
}

// useKafka creates the client, and the embedded broker if configured.
func (p *Process) useKafka() (err error) {
	cfg, dial := p.cfg.Kafka.Client, kafka.Dial(nil)
	if p.cfg.Kafka.Embedded {
		if p.broker, err = embedded.New(p.cfg.EmbeddedBroker(), cfg, p.log); err != nil {
			return err
		}
		cfg, dial = p.broker.Client(cfg), p.broker.Dial
	}
	if err = p.makeClient(cfg, dial); err != nil {
		return err
	}
	p.ops.AddCheck("kafka", p.client.Ping)
	return nil
}

// reachKafka creates only the client: of the configured brokers, or of the broker embedded in another process
// with the same data_dir.
func (p *Process) reachKafka() error {
	if !p.cfg.Kafka.Embedded {
		return p.useKafka()
	}
	cfg, dial, err := embedded.Reach(p.cfg.EmbeddedBroker(), p.cfg.Kafka.Client)
	if err != nil {
		return err
	}
	return p.makeClient(cfg, dial)
}

func (p *Process) makeClient(cfg kafka.Config, dial kafka.Dial) (err error) {
	metrics, err := kafka.NewMetrics(p.registerer)
	if err != nil {
		return err
	}
	p.client, err = kafka.NewClient(cfg, dial, metrics, p.log)
	return err
}

// newCoordinator returns the group of the processes that share the fabrics, with connections of its own: a query of the page
// must not delay a heartbeat.
func (p *Process) newCoordinator() *kafka.Coordinator {
	c := kafka.NewCoordinator(p.client)
	p.groups = append(p.groups, c)
	return c
}

// UseStore creates the database client, and the embedded engine if configured.
func (p *Process) UseStore() error {
	options, err := p.storeOptions()
	if err != nil {
		return err
	}
	return p.openStore(options)
}

// useStoreBeside creates the database client for a command that may run beside giverny up or analyze: if one of these has
// the embedded engine open, the command uses that engine.
func (p *Process) useStoreBeside() error {
	if p.cfg.Store.Embedded {
		dir, err := p.engineDir()
		if err != nil {
			return err
		}
		if options, err := engine.Reach(dir, store.DefaultDatabase); err == nil {
			return p.openStore(options)
		}
	}
	return p.UseStore()
}

func (p *Process) openStore(options *clickhouse.Options) (err error) {
	p.db, err = store.New(options, p.cfg.Store.Tables, store.Deps{Log: p.log, Registerer: p.registerer, Now: time.Now})
	if err != nil {
		return err
	}
	p.ops.AddCheck("store", p.db.CheckReady)
	return nil
}

func (p *Process) storeOptions() (*clickhouse.Options, error) {
	s := p.cfg.Store
	if !s.Embedded {
		options, err := s.Server.Options(p.log)
		return options, faults.At("store", err)
	}
	library, err := engine.FindLibrary(s.Library)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start the engine with: %w", err)
	}
	dir, err := p.engineDir()
	if err != nil {
		return nil, err
	}
	cfg := s.Engine
	cfg.LibraryPath, cfg.DataDir, cfg.Command = library, dir, []string{self, EngineCommand}
	p.engine, err = engine.New(cfg, engine.Deps{Logger: p.log, Registerer: p.registerer})
	if err != nil {
		return nil, err
	}
	return p.engine.Options(store.DefaultDatabase), nil
}

// engineDir is the folder of the embedded engine.
func (p *Process) engineDir() (string, error) {
	dir, err := filepath.Abs(p.cfg.DataDir) // ClickHouse would resolve a relative path twice
	if err != nil {
		return "", fmt.Errorf("data_dir: %w", err)
	}
	return filepath.Join(dir, "clickhouse"), nil
}

// guard creates the guard of the page and the API, and their TLS; nil if there is none.
func (p *Process) guard() (*access.Guard, *tlsfile.Reloader, error) {
	if err := p.checkAddress(); err != nil { // first, since its error names the right key
		return nil, nil, err
	}
	cfg := &p.cfg.HTTP
	guard, err := access.New(cfg.Access, cfg.Listen, cfg.TLS.CA != "", p.registerer, p.log)
	if err != nil {
		return nil, nil, faults.At("http.access", err)
	}
	if !cfg.TLS.Enabled() {
		return guard, nil, nil
	}
	reloader, err := tlsfile.NewReloader(cfg.TLS, p.log)
	return guard, reloader, faults.At("http.tls", err)
}

// serveWeb serves the page and the API, behind the guard, until ctx is cancelled.
func (p *Process) serveWeb(l net.Listener) (func(context.Context) error, error) {
	guard, reloader, err := p.guard()
	if err != nil {
		return nil, err
	}
	l = ops.Limit(l, p.cfg.HTTP.Connections)
	if reloader != nil {
		l = tls.NewListener(l, reloader.Config())
	}
	handler := guard.Before(p.mux)
	return func(ctx context.Context) error { return ops.Serve(ctx, l, handler, time.Second, p.log) }, nil
}

// Run starts the engine and the broker, then, once these respond, the steps that layOut
// returns. It stops everything in the order of the data: the pipeline first, the
// infrastructure last.
func (p *Process) Run(ctx context.Context, l *Listeners, layOut func(ctx context.Context) ([]Step, error)) error {
	serveWeb, err := p.serveWeb(l.Web)
	if err != nil {
		return errors.Join(err, l.Close(), p.Close())
	}
	pipeline := lifecycle.Stage{Name: "pipeline", Run: func(ctx context.Context) error {
		steps, err := layOut(ctx)
		if err != nil {
			return err
		}
		stages := lifecycle.New(p.log, p.cfg.StopTimeout)
		for _, step := range steps {
			stages.Add(step...)
		}
		return stages.Run(ctx)
	}}
	web := []lifecycle.Stage{{Name: "http", Run: serveWeb}, {Name: "metrics", Run: func(ctx context.Context) error {
		return ops.Serve(ctx, l.Metrics, p.ops.Own(p.cfg.HTTP.Metrics.Profiles), time.Second, p.log)
	}}}
	return p.runSteps(ctx, []lifecycle.Stage{pipeline}, web, p.infrastructure())
}

// RunOnce runs a task with the store and the broker but without the HTTP server. It
// returns the task's error unchanged.
func (p *Process) RunOnce(ctx context.Context, task func(ctx context.Context) error) error {
	return p.runSteps(ctx, []lifecycle.Stage{{Run: task}}, p.infrastructure())
}

func (p *Process) infrastructure() (stages []lifecycle.Stage) {
	if p.engine != nil {
		stages = append(stages, lifecycle.Stage{Name: "engine", Run: p.engine.Run})
	}
	if p.broker != nil {
		stages = append(stages, lifecycle.Stage{Name: "broker", Run: p.broker.Run})
	}
	return stages
}

func (p *Process) runSteps(ctx context.Context, steps ...[]lifecycle.Stage) error {
	const afterPipeline = 5 * time.Second // on top of the deadlines of its stages
	group := lifecycle.New(p.log, p.cfg.StopTimeout+afterPipeline)
	for _, step := range steps {
		if len(step) > 0 {
			group.Add(step...)
		}
	}
	err := group.Run(ctx)
	if err == nil && ctx.Err() != nil {
		p.log.Info("app: stopped")
	}
	return errors.Join(err, p.Close())
}

// Close closes the connections. Run does so when it returns.
func (p *Process) Close() error {
	for _, g := range p.groups {
		g.Close()
	}
	if p.client != nil {
		p.client.Close()
	}
	if p.db != nil {
		return p.db.Close()
	}
	return nil
}
