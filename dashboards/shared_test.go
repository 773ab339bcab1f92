//go:build engine || integration

package dashboards

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// atEnd lists the functions that close what the tests share, called last first.
var atEnd struct {
	sync.Mutex
	list []func()
}

func whenAllEnd(f func()) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.list = append([]func(){f}, atEnd.list...)
}

// sharedEngine is the engine of all tests: starting one takes longer than most tests.
var sharedEngine *engine.Engine

func TestMain(m *testing.M) {
	enginetest.MainShared(m, func(e *engine.Engine) { sharedEngine = e }, func() {
		for _, end := range atEnd.list {
			end()
		}
	})
}

var databases enginetest.Databases

// database lends the test an empty database; the test must not change its schema.
func database(t testing.TB) (*store.DB, driver.Conn) {
	t.Helper()
	return databaseIn(t, prometheus.NewRegistry())
}

// databaseIn is database with the store's metrics in the caller's registry.
func databaseIn(t testing.TB, reg *prometheus.Registry) (*store.DB, driver.Conn) {
	t.Helper()
	name := databases.Lend(t, sharedEngine, func(name string) {
		db := connect(t, name, prometheus.NewRegistry())
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return connect(t, name, reg), enginetest.Connect(t, sharedEngine, name)
}

func connect(t testing.TB, name string, reg *prometheus.Registry) *store.DB {
	t.Helper()
	db, err := store.New(sharedEngine.Options(name), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: reg, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// open serves the dashboards of fabrics until the test ends, over a database of its own.
func open(t testing.TB, specs ...string) *house {
	t.Helper()
	db, conn := database(t)
	h := serve(t, db, specs...)
	h.conn = conn
	return h
}
