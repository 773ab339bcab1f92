// Package enginetest starts the real embedded engine for tests. A test binary
// is its own engine process: it needs Main as its TestMain.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store/engine"
)

// verb as the first argument makes a test binary run the engine.
const verb = "giverny-engine"

// Main runs the tests, or the engine if this process is the child of such a run.
func Main(m *testing.M) {
	serveInChild()
	os.Exit(m.Run())
}

// MainShared is Main for tests that share one engine, with TestKeeper for tests of
// clusters: it calls use with the engine before the tests, and the after functions
// after them.
func MainShared(m *testing.M, use func(*engine.Engine), after ...func()) {
	serveInChild()
	code, err := runShared(m, use)
	for _, end := range after {
		end()
	}
	if err != nil {
		fail(err)
	}
	os.Exit(code)
}

func runShared(m *testing.M, use func(*engine.Engine)) (code int, err error) {
	dir, err := os.MkdirTemp("", "giverny-enginetest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	cfg, err := configIn(dir)
	if err != nil {
		return 0, err
	}
	cfg.TestKeeper = true
	e, err := engine.New(cfg, quiet())
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	if err = e.Ready(ctx); err == nil {
		use(e)
		code = m.Run()
	}
	cancel()
	return code, errors.Join(err, <-ended)
}

// serveInChild runs the engine and exits if this process is the child of a test run.
func serveInChild() {
	if len(os.Args) < 2 || os.Args[1] != verb {
		return
	}
	cfg, err := engine.ParseServeArgs(os.Args[2:])
	if err == nil {
		err = engine.Serve(context.Background(), cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func quiet() engine.Deps {
	return engine.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry()}
}

// Config returns the configuration of an engine in a directory of the test. It
// fails the test if libchdb is missing.
func Config(tb testing.TB) engine.Config {
	tb.Helper()
	cfg, err := configIn(tb.TempDir())
	if err != nil {
		tb.Fatalf("this test needs the embedded engine: %v", err)
	}
	return cfg
}

func configIn(dir string) (engine.Config, error) {
	cfg := engine.DefaultConfig()
	library, err := engine.FindLibrary("")
	if err != nil {
		return cfg, err
	}
	binary, err := os.Executable()
	if err != nil {
		return cfg, err
	}
	cfg.Command = []string{binary, verb}
	cfg.LibraryPath = library
	cfg.DataDir = dir
	cfg.StopTimeout = 3 * time.Second
	return cfg, nil
}

// Start runs an engine until the end of the test and waits until it is ready.
func Start(tb testing.TB) *engine.Engine {
	tb.Helper()
	return Run(tb, Config(tb), quiet())
}

// Run is Start with the caller's configuration and dependencies.
func Run(tb testing.TB, cfg engine.Config, deps engine.Deps) *engine.Engine {
	tb.Helper()
	e, err := engine.New(cfg, deps)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("run the engine: %v", err)
		}
	})
	if err := e.Ready(ctx); err != nil {
		tb.Fatalf("wait for the engine: %v", err)
	}
	return e
}

// Connect opens a connection to the database until the end of the test.
func Connect(tb testing.TB, e *engine.Engine, database string) driver.Conn {
	tb.Helper()
	conn, err := clickhouse.Open(e.Options(database))
	if err != nil {
		tb.Fatalf("connect to the engine: %v", err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}
