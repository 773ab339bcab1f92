package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/sdnotify"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Process is one running giverny: the services it uses, its listeners, and the parts that a role
// may need. Parts are created first and started by Run.
type Process struct {
	services
	version string
	mux     *http.ServeMux
	analyst func(context.Context) error // serves analysts; nil if disabled
}

// New returns a process without parts. version is the program's.
func New(cfg config.Config, version string, log *slog.Logger) *Process {
	o := ops.New(version)
	p := &Process{services: services{cfg: cfg, log: log, ops: o, registerer: o.Registry}, version: version, mux: http.NewServeMux()}
	p.ops.RegisterHealth(p.mux)
	return p
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
	defer p.notify(ctx)()
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

// notify tells the service manager that the configuration is valid and the addresses are open, and when ctx ends. It does not
// wait for Kafka and the store, which may be away when the host starts: /-/ready reports these.
func (p *Process) notify(ctx context.Context) (stop func() bool) {
	send := func(message string) {
		if err := sdnotify.Send(message); err != nil {
			p.log.Warn("app: service manager not notified", "error", err)
		}
	}
	send(sdnotify.Ready)
	return context.AfterFunc(ctx, func() { send(sdnotify.Stopping) })
}

// RunOnce runs a task with the store and the broker but without the HTTP server. It
// returns the task's error unchanged.
func (p *Process) RunOnce(ctx context.Context, task func(ctx context.Context) error) error {
	return p.runSteps(ctx, []lifecycle.Stage{{Run: task}}, p.infrastructure())
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
