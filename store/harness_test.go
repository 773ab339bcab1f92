package store

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// shared is the engine of the tests that do nothing to an engine itself.
var shared *engine.Engine

func TestMain(m *testing.M) { enginetest.MainShared(m, func(e *engine.Engine) { shared = e }) }

// testDB is a database of the test's own, with the metrics that it moves.
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

var databases enginetest.Databases

// migratedDB is a database of the test's own, in the shared engine, whose schema it leaves as it is.
func migratedDB(tb testing.TB) testDB {
	tb.Helper()
	name := databases.Lend(tb, shared, func(name string) {
		if err := openDB(tb, shared.Options(name), DefaultConfig()).Migrate(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	})
	return openDB(tb, shared.Options(name), DefaultConfig())
}

// testOptionsNowhere lead to a port at which nothing listens.
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

// run executes the statements of a file.
func run(t *testing.T, db testDB, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range splitStatements(string(text)) {
		if err := db.conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// row is the only row of a query whose columns are text.
func row(t *testing.T, db testDB, query string) string {
	t.Helper()
	var out []string
	rows, err := db.conn.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(out, "; ")
}
