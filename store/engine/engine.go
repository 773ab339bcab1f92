// Package engine runs ClickHouse inside Giverny: libchdb in a child process
// behind a unix socket. An Engine in the parent starts, monitors and restarts
// it, and provides connection options for clickhouse-go. Deployments with a
// ClickHouse server do not need it. It creates no tables.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
)

// errStopped is wrapped by the errors of clients after Run has ended.
var errStopped = errors.New("the embedded engine has stopped")

// Engine supervises one child process.
type Engine struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	gate    *gate
	socket  atomic.Pointer[string] // set before the gate first opens
	pid     atomic.Int64           // of the child, 0 if there is none
}

// New returns an Engine that does nothing until Run.
func New(cfg Config, deps Deps) (*Engine, error) {
	if err := errors.Join(faults.At("store", faults.At("engine", cfg.Validate())), cfg.complete()); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, log: deps.Logger, gate: newGate()}
	var err error
	e.metrics, err = newMetrics(deps.Registerer, e.childPID)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return e, nil
}

func (e *Engine) childPID() (int, error) {
	pid := int(e.pid.Load())
	if pid == 0 {
		return 0, errors.New("the engine is not running")
	}
	return pid, nil
}

// Run keeps the child running until ctx ends, then lets it finish its
// statements, stops it and returns nil. If a child ends before the engine was
// ever ready, Run returns its error: restarting would not help. Later it
// restarts the child with exponential back-off.
func (e *Engine) Run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			e.gate.breakWith(fmt.Errorf("%w: %w", errStopped, err))
		}
		e.gate.breakWith(errStopped)
	}()
	dir := ""
	defer func() { os.RemoveAll(dir) }()
	everReady, pauses := false, retry.Backoff{Min: e.cfg.MinBackoff, Max: e.cfg.MaxBackoff}.Pauses()
	for {
		started := time.Now()
		if dir, err = e.socketDir(dir); err != nil {
			return err
		}
		serve := e.cfg.serveConfig(filepath.Join(dir, "socket"))
		if err := serve.Validate(); err != nil {
			return err
		}
		e.socket.Store(&serve.Socket)
		end := e.runChild(ctx, serve)
		everReady = everReady || end.wasReady
		switch {
		case end.err == nil:
			return nil
		case !everReady:
			return fmt.Errorf("start the embedded engine: %w", end.err)
		}
		if time.Since(started) > e.cfg.MaxBackoff {
			pauses.Reset()
		}
		e.metrics.restarts.WithLabelValues(string(end.reason)).Inc()
		pause := pauses.Next()
		e.log.Error("engine: ended, restarting", "reason", end.reason, "error", end.err, "pause", pause)
		if !retry.Sleep(ctx, pause) {
			return nil
		}
	}
}

// socketDir creates the socket's directory, again if that of earlier children has been removed, as cleaners of /tmp do.
func (e *Engine) socketDir(had string) (dir string, err error) {
	if _, err := os.Stat(had); had != "" && err == nil {
		return had, nil
	}
	if dir, err = os.MkdirTemp(e.cfg.RuntimeDir, "giverny-engine-"); err != nil {
		return had, fmt.Errorf("make a directory for the engine's socket: %w", err)
	}
	return dir, nil
}

// ending says how a run of the child ended. A nil error means that it was asked to stop.
type ending struct {
	wasReady bool
	reason   reason
	err      error
}

// runChild runs the child once, from start to exit.
func (e *Engine) runChild(ctx context.Context, serve ServeConfig) ending {
	started := time.Now()
	c, err := startChild(slices.Concat(e.cfg.Command, serve.Args()), e.log)
	if err != nil {
		return ending{reason: reasonStartFailed, err: err}
	}
	e.pid.Store(int64(c.cmd.Process.Pid))
	defer e.pid.Store(0)
	client := &http.Client{Transport: &http.Transport{DialContext: e.dialSocket, DisableKeepAlives: true}}

	end := e.awaitFirstAnswer(ctx, c, client)
	if end.wasReady {
		e.metrics.startSeconds.Set(time.Since(started).Seconds())
		e.metrics.ready.Set(1)
		e.gate.open()
		e.log.Info("engine: ready", "pid", c.cmd.Process.Pid, "seconds", time.Since(started).Seconds())
		end = e.watch(ctx, c, client)
		e.gate.shut()
		e.metrics.ready.Set(0)
	}
	if end.err == nil {
		c.stop(2 * e.cfg.StopTimeout) // the child waits StopTimeout for its statements, and as long for those that it then kills
	} else {
		c.kill()
	}
	return end
}

// awaitFirstAnswer returns when the child answers or exits, when the start
// timeout expires, or when ctx ends.
func (e *Engine) awaitFirstAnswer(ctx context.Context, c *child, client *http.Client) ending {
	const pollEvery = 20 * time.Millisecond
	deadline := time.After(e.cfg.StartTimeout)
	for {
		if ping(ctx, client, e.cfg.StartTimeout) == nil {
			return ending{wasReady: true}
		}
		select {
		case <-ctx.Done():
			return ending{}
		case <-c.exited:
			return c.ending(false)
		case <-deadline:
			return ending{reason: reasonStartTimeout, err: fmt.Errorf("timed out after %v without an answer", e.cfg.StartTimeout)}
		case <-time.After(pollEvery):
		}
	}
}

// watch returns when the child exits or stops answering, or when ctx ends.
func (e *Engine) watch(ctx context.Context, c *child, client *http.Client) ending {
	ticker := time.NewTicker(e.cfg.HealthInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ending{wasReady: true}
		case <-c.exited:
			return c.ending(true)
		case <-ticker.C:
		}
		switch err := ping(ctx, client, e.cfg.HealthTimeout); {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, syscall.ENOENT):
			return ending{wasReady: true, reason: reasonUnresponsive, err: fmt.Errorf("its socket was removed, which lies in the directory of temporary files: %w", err)}
		case errors.Is(err, context.DeadlineExceeded):
			return ending{wasReady: true, reason: reasonUnresponsive, err: fmt.Errorf("timed out after %v", e.cfg.HealthTimeout)}
		default:
			e.log.Warn("engine: health check failed", "error", err)
		}
	}
}

func (c *child) ending(wasReady bool) ending {
	if c.crashed {
		return ending{wasReady: wasReady, reason: reasonCrash, err: c.err}
	}
	return ending{wasReady: wasReady, reason: reasonExit, err: c.err}
}

// ping checks that the engine can run a query.
func ping(ctx context.Context, client *http.Client, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/ping", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the engine answers a ping with %s", response.Status)
	}
	return nil
}

func (e *Engine) dialSocket(ctx context.Context, _, _ string) (net.Conn, error) {
	return dialUnix(ctx, *e.socket.Load())
}

// Ready waits until the engine answers. It returns an error if ctx ends first,
// or if Run ends, with the reason.
func (e *Engine) Ready(ctx context.Context) error { return e.gate.wait(ctx) }

// DialContext connects to the engine; it ignores the address. During a restart
// it waits for the engine, up to StartTimeout.
func (e *Engine) DialContext(ctx context.Context, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.StartTimeout)
	defer cancel()
	for {
		if err := e.gate.wait(ctx); err != nil {
			return nil, fmt.Errorf("connect to the embedded engine: %w", err)
		}
		conn, err := e.dialSocket(ctx, "", "")
		if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
			return conn, err
		}
		select { // it has just died, and the gate is not closed yet
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Options returns the options of a clickhouse-go connection to the database.
func (e *Engine) Options(database string) *clickhouse.Options {
	return options(database, e.DialContext, e.cfg.StartTimeout)
}
