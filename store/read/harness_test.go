//go:build engine || integration

package read

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
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
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1<<63 + 7, Interval: schema.Interval{StartNanos: n * minute, DurationNanos: minute}, Links: links,
		FirstReadNanos: n*minute + 1, LastReadNanos: n*minute + minute - 1, Samples: 3 * links}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
		for i := range s.Values {
			if rng.IntN(20) == 0 {
				continue
			}
			s.Valid.Set(i)
			s.Count++
			s.Values[i] = float32(rng.ExpFloat64())
			if m == schema.Throughput {
				s.Values[i] *= 1e9
			}
		}
		snap.Series = append(snap.Series, s)
	}
	r := &schema.IntervalResult{Snapshot: snap, Dropped: map[string]uint64{"late": 3, "reset": 1}}
	r.Regions = []schema.Region{
		{Metric: schema.CreditStall, Links: []schema.LinkID{3, 4, 9}, Size: 3, Mean: 27.5, Max: 40, Severity: schema.High, Name: "(0,0,0) 1x1x3",
			Box: &schema.Box{Min: []int{0, 0, 23}, Max: []int{0, 0, 2}}, ID: someRegion, AgeIntervals: int(n), BirthNanos: minute + 1},
		{Metric: schema.InqStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: 7, Max: 8, Severity: schema.Low, Name: "leaf 'one'\n"},
	}
	r.Regions[1].Root = &schema.Root{Device: "leaf7", Port: "9", Peer: "host56", Kind: schema.RootIncast, Link: 2}
	r.Regions[0].Forecast = &schema.Forecast{GrowthLinks: -3, TrendPercent: .25, Next: schema.Odds{0, .1, .2, .6, .1}, Later: schema.Odds{.2, .2, .2, .2, .2}}
	r.States = schema.NetworkStates(snap, r.Regions)
	r.Network = schema.NetworkForecast{Severity: schema.High, Next: schema.Odds{.5, .3, .1, .1}, Later: schema.Odds{.2, .4, .2, .2}}
	r.Congestion = &schema.CongestionEvent{BeginNanos: minute, EndNanos: n*minute + minute, PeakMeanPercent: 27.5 + float64(n)}
	r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 9, SinceNanos: minute}, {Metric: schema.InqStall, Link: 1, SinceNanos: n * minute}}
	r.Events = []schema.Event{{TimeNanos: n*minute + 5, Fabric: fabric, Kind: schema.RegionBorn, RegionID: someRegion, Detail: "born"},
		{TimeNanos: n*minute + 7, Fabric: fabric, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	r.Diagnoses = []schema.Diagnosis{{Fabric: fabric, Time: schema.Instant(n * minute), Region: someRegion, Metric: schema.CreditStall, Severity: schema.High, Links: r.Regions[0].Links, Mean: 27.5,
		Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9}, Jobs: []schema.AccusedJob{{JobID: "17", Blame: .1 * float64(n), Feature: "rdma_read_bytes"}},
		Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{{JobID: "18", Slowdown: [2]float64{1.1, 1.6}}}, Text: "why"}}
	return r
}
