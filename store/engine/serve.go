package engine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/store/engine/chdb"
	"github.com/giverny/giverny/store/engine/httpapi"
)

// Serve runs the engine in this process and serves it on the socket until ctx
// ends or, if supervised, until stdin is closed. It then gives running
// statements StopTimeout to finish, kills the rest, and closes the engine. A
// process can call it only once.
func Serve(ctx context.Context, cfg ServeConfig, log *slog.Logger) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if cfg.Supervised {
		// A terminal or a service manager signals the whole process group, but
		// the parent still has data to write: it decides when to stop.
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		ctx = untilEOF(context.WithoutCancel(ctx), os.Stdin)
	}
	if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("make the data directory: %w; set data_dir to a directory that this user may write to", err)
	}
	release, err := dirlock.Acquire(cfg.DataDir, lockPatience)
	if err != nil {
		return err
	}
	defer release()
	listener, err := listen(cfg.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	engine, err := open(cfg)
	if err != nil {
		return err
	}
	defer engine.Close()
	api, err := httpapi.New(httpapi.Config{MaxQueries: cfg.MaxQueries, MaxStatementBytes: maxStatementBytes}, engine, log)
	if err != nil {
		return err
	}
	defer api.Close()
	if withdraw, err := publish(cfg.DataDir, cfg.Socket); err == nil {
		defer withdraw()
	} else {
		log.Warn("engine: not reachable by other processes", "error", err)
	}
	log.Info("engine: started", "version", engine.Version(), "data", cfg.DataDir, "socket", cfg.Socket)
	return serveHTTP(ctx, listener, api, cfg.StopTimeout)
}

// lockPatience is how long an engine waits for its predecessor to release the
// data directory.
const lockPatience = 10 * time.Second

// untilEOF returns a context that ends when the file does: the pipe from a
// parent that stops or dies. Its goroutine lives as long as the process.
func untilEOF(ctx context.Context, file *os.File) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		io.Copy(io.Discard, file)
	}()
	return ctx
}

// listen creates the socket in a directory that only this user can enter: it
// has no other protection.
func listen(socket string) (net.Listener, error) {
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the socket directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("check the socket directory: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("socket directory %s is open to other users (mode %#o): run chmod 700 on it", dir, info.Mode().Perm())
	}
	// A killed predecessor left its socket; we hold the lock on the data
	// directory, so it is gone.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", socket, err)
	}
	return listener, nil
}

//go:embed config.xml.tmpl
var configTemplate string

//go:embed users.xml.tmpl
var usersTemplate string

// open writes the engine's configuration next to the socket and starts it.
func open(cfg ServeConfig) (*chdb.Engine, error) {
	dir := filepath.Dir(cfg.Socket)
	configFile, usersFile := filepath.Join(dir, "config.xml"), filepath.Join(dir, "users.xml")
	values := map[string]any{
		"UsersFile":           usersFile,
		"MaxMemoryBytes":      cfg.MaxMemoryBytes,
		"MaxQueryMemoryBytes": cfg.MaxMemoryBytes / 3 * 2,
		"MaxThreads":          cfg.MaxThreads,
		"TestKeeper":          cfg.TestKeeper,
	}
	err := errors.Join(writeTemplate(configFile, configTemplate, values), writeTemplate(usersFile, usersTemplate, values))
	if err != nil {
		return nil, err
	}
	return chdb.Open(cfg.Library, filepath.Join(cfg.DataDir, "clickhouse"), configFile)
}

func writeTemplate(path, text string, values map[string]any) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the engine's configuration: %w", err)
	}
	defer file.Close()
	parsed, err := template.New(filepath.Base(path)).Parse(text)
	if err == nil {
		err = parsed.Execute(file, values)
	}
	if err != nil {
		return fmt.Errorf("write the engine's configuration %s: %w", path, err)
	}
	return nil
}

// serveHTTP serves until ctx ends and all handlers have returned.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, stopTimeout time.Duration) error {
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the engine: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if server.Shutdown(grace) == nil {
			return nil
		}
		cancelRequests() // kills the running statements
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return server.Shutdown(rest)
	})
	return group.Wait()
}
