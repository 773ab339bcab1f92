package dashboards

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// atEnd is what ends what the tests share, the last first.
var atEnd struct {
	sync.Mutex
	list []func()
}

func whenAllEnd(f func()) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.list = append([]func(){f}, atEnd.list...)
}

func TestMain(m *testing.M) {
	enginetest.Main(m, func() {
		for _, end := range atEnd.list {
			end()
		}
	})
}

// sharedEngine is the engine of all tests: to start one takes longer than most of them.
var sharedEngine = sync.OnceValues(func() (*engine.Engine, error) {
	dir, err := os.MkdirTemp("", "dashboards-engine-")
	if err != nil {
		return nil, err
	}
	cfg := engine.DefaultConfig()
	cfg.DataDir, cfg.StopTimeout = dir, 3*time.Second
	if cfg.LibraryPath, err = engine.FindLibrary(""); err != nil {
		return nil, err
	}
	if cfg.Command, err = enginetest.Command(); err != nil {
		return nil, err
	}
	e, err := engine.New(cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	whenAllEnd(func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "the engine of the tests:", err)
		}
		_ = os.RemoveAll(dir)
	})
	return e, e.Ready(ctx)
})

// database is an empty one of the test's own.
func database(t testing.TB) (*store.DB, driver.Conn) {
	t.Helper()
	e, err := sharedEngine()
	if err != nil {
		t.Fatalf("this test needs the embedded engine: %v", err)
	}
	name := "test_" + strings.ToLower(t.Name())
	db, err := store.New(e.Options(name), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, enginetest.Connect(t, e, name)
}
