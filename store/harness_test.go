package store

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// testDB is a database for exclusive use by the test, with its metrics.
type testDB struct {
	*DB
	registry *prometheus.Registry
}

func openDB(tb testing.TB, opts *clickhouse.Options, cfg Config) testDB {
	tb.Helper()
	registry := prometheus.NewRegistry()
	db, err := New(opts, cfg, Deps{Log: slog.New(slog.NewTextHandler(tb.Output(), nil)), Registerer: registry, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return testDB{db, registry}
}

// testOptionsNowhere point to a port at which nothing listens.
func testOptionsNowhere() *clickhouse.Options {
	return &clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"127.0.0.1:1"}}
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

func count(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}
