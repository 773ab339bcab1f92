//go:build engine || integration

package read

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/storetest"
)

func TestMain(m *testing.M) {
	enginetest.MainShared(m, func(e *engine.Engine) { shared = e })
}

// shared is the engine of all tests, which run sequentially, and migrated are its
// databases that have their tables.
var (
	shared   *engine.Engine
	migrated = map[string]bool{}
)

const (
	minute = int64(60e9)
	stall  = schema.CreditStall
)

// testModel reads a database for exclusive use by the test, which the test writes with
// db or SQL.
type testModel struct {
	*Model
	db   *store.DB
	conn driver.Conn
}

func newModel(tb testing.TB) testModel {
	tb.Helper()
	return modelOf(tb, shared.Options(store.DefaultDatabase), store.DefaultConfig())
}

// modelOf returns a model of the empty database that options name.
func modelOf(tb testing.TB, options *clickhouse.Options, cfg store.Config) testModel {
	tb.Helper()
	db, err := store.New(options, cfg, store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	database := options.Auth.Database
	if !migrated[database] {
		if err := db.Migrate(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		migrated[database] = true
	}
	m := testModel{New(db), db, enginetest.Connect(tb, shared, database)}
	tb.Cleanup(func() {
		if err := enginetest.Empty(context.WithoutCancel(tb.Context()), m.conn, database); err != nil {
			tb.Error(err)
		}
	})
	return m
}

func (m testModel) store(tb testing.TB, results ...*schema.IntervalResult) {
	tb.Helper()
	for _, r := range results {
		if err := m.db.Store(tb.Context(), r); err != nil {
			tb.Fatal(err)
		}
	}
}

// minutes is a span in minutes since 1970.
func minutes(from, to float64) Span {
	return Span{schema.Instant(from * float64(minute)), schema.Instant(to * float64(minute))}
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// someRegion is the id of a region that was born in the first minute.
const someRegion = 60<<20 + 1

// someResult returns a result with something for every table, the same for the
// same arguments.
func someResult(fabric string, n int64, links int) *schema.IntervalResult {
	r := storetest.Result(fabric, someRegion, n, links)
	r.Network.Severity = schema.High
	r.Diagnoses = []schema.Diagnosis{{Fabric: fabric, Time: schema.Instant(n * minute), Region: someRegion, Metric: schema.CreditStall, Severity: schema.High, Links: r.Regions[0].Links, Mean: 27.5,
		Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9}, Jobs: []schema.AccusedJob{{JobID: "17", Blame: .1 * float64(n), Feature: "rdma_read_bytes"}},
		Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{{JobID: "18", Slowdown: [2]float64{1.1, 1.6}}}, Text: "why"}}
	return r
}
