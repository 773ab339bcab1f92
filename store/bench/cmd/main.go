// Command cmd fills an embedded store with months of congestion (store/bench) and prints
// how long each query over them takes and how many rows it reads. make bench-history
// runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/bench"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/read"
)

// engineVerb is the first argument of this program as the engine's child process.
const engineVerb = "engine"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-history:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == engineVerb {
		cfg, err := engine.ParseServeArgs(args[1:])
		if err != nil {
			return err
		}
		return engine.Serve(ctx, cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	}
	cfg := bench.Config{Seed: 1}
	var dir string
	var threads int
	flags := flag.NewFlagSet("bench-history", flag.ContinueOnError)
	flags.IntVar(&cfg.Days, "days", 150, "days of regions, and of links by hours")
	flags.IntVar(&cfg.MinutesDays, "minutes-days", 30, "the last of them, of links by five minutes: about 40 MB each")
	flags.IntVar(&cfg.RawDays, "raw-days", 1, "the last of them, of links by intervals: about 60 MB each")
	flags.IntVar(&cfg.Jobs, "jobs", 50_000, "jobs in all")
	flags.IntVar(&threads, "threads", runtime.NumCPU(), "threads of one question")
	flags.StringVar(&dir, "dir", "", "folder of the store, which stays and is used again; empty: a temporary one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "giverny-bench-history-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	return withEngine(ctx, dir, threads, func(ctx context.Context, e *engine.Engine) error {
		return measure(ctx, e, cfg, os.Stdout)
	})
}

// withEngine runs task against an embedded engine in a directory.
func withEngine(ctx context.Context, dir string, threads int, task func(context.Context, *engine.Engine) error) error {
	library, err := engine.FindLibrary("")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg := engine.DefaultConfig()
	cfg.LibraryPath, cfg.DataDir, cfg.Command, cfg.MaxThreads, cfg.MaxMemoryBytes = library, filepath.Join(dir, "clickhouse"), []string{self, engineVerb}, threads, 4<<30
	e, err := engine.New(cfg, engine.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	err = e.Ready(ctx)
	if err == nil {
		err = task(ctx, e)
	}
	cancel()
	return errors.Join(err, <-ended)
}

func measure(ctx context.Context, e *engine.Engine, cfg bench.Config, out io.Writer) error {
	options := e.Options(store.DefaultDatabase)
	options.ReadTimeout = time.Hour
	db, err := store.New(options, store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	defer conn.Close()
	b := bench.Bench{Model: read.New(db), Conn: conn, Config: cfg, Out: out}
	if err := b.Fill(ctx, func(ctx context.Context) (int, error) { return db.RollUp(ctx, bench.Fabric, 0) }); err != nil {
		return err
	}
	return b.Measure(ctx)
}
