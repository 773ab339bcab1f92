package store

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// Rounding keeps the sum, and moves no probability by a whole unit.
func TestOddsAreStoredInUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o schema.Odds
		sum := 0.
		for i := range o {
			o[i] = rapid.Float64Range(0, 1).Draw(t, "odds")
			sum += o[i]
		}
		if sum == 0 {
			o[0], sum = 1, 1
		}
		total := 0
		for i := range o {
			o[i] /= sum
		}
		stored := encodeOdds(&o)
		for i, p := range decodeOdds(stored) {
			total += int(stored[i])
			if d := p - o[i]; d >= 1./oddsUnit || d <= -1./oddsUnit {
				t.Fatalf("%v is stored as %v", o, stored)
			}
		}
		if total != oddsUnit {
			t.Fatalf("%v is stored as %v, which adds up to %d", o, stored, total)
		}
	})
	if encodeOdds(&schema.Odds{}) != nil {
		t.Error("no odds are stored as some")
	}
}

func TestCongestionAsItWasTold(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	for n := int64(1); n <= 4; n++ {
		r := someResult("bw", n, 10)
		if n == 3 {
			r.Congestion = nil
		}
		if n == 4 {
			r.Congestion = &schema.CongestionEvent{BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}
		}
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Congestion(ctx, "bw", Span{0, 9 * minute})
	want := []schema.CongestionEvent{{BeginNanos: minute, EndNanos: 3 * minute, PeakMeanPercent: 29.5}, {BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStatesOfTheAnalysis(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	put := func(n int64, version uint64, state string) {
		t.Helper()
		if err := db.StoreState(ctx, AnalysisState{"bw", version, schema.Interval{StartNanos: n * minute, DurationNanos: minute}, []byte(state)}); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 7, "one\x00\xff")
	put(3, 7, "three")
	put(3, 7, "three again")
	put(4, 8, "of another graph")
	for start, want := range map[int64]string{1: "one\x00\xff", 2: "one\x00\xff", 3: "three", 9: "three"} {
		if got, err := db.LastState(ctx, "bw", 7, start*minute); err != nil || string(got.State) != want {
			t.Errorf("at %d: %q, %v, want %q", start, got.State, err, want)
		}
	}
	if _, err := db.LastState(ctx, "bw", 7, 0); !isNotFound(err) {
		t.Errorf("before the first: %v", err)
	}
}

// What was stored before the step that brought tracking is read as without it.
func TestIntervalsFromBeforeTrackingAreRead(t *testing.T) {
	db, ctx := freshDatabase(t, enginetest.Start(t), "old", DefaultConfig()), context.Background()
	_ = db.migrate(ctx, ownMigrations(t)[:4]) // the retention of what is not there yet
	for _, statement := range []string{
		"INSERT INTO regions (fabric, time, graph_version, rank, metric, region_id, severity, size, mean, stored_at) VALUES ('bw', toDateTime64(60, 3), 1, 0, 'credit_stall', 5, 'High', 3, 30, now())",
		"INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, stored_at) VALUES ('bw', toDateTime64(60, 3), 1, 'credit_stall', 'High', [0, 0, 0, 1], now())",
		"INSERT INTO intervals (fabric, time, graph_version, duration_ms, links) VALUES ('bw', toDateTime64(60, 3), 1, 60000, 100)",
	} {
		if err := db.conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	regions, err := db.Regions(ctx, "bw", Span{0, 9 * minute})
	if err != nil || len(regions) != 1 || regions[0].ID != 5 || regions[0].Forecast != nil {
		t.Errorf("regions %+v, %v", regions, err)
	}
	tracked, err := db.TrackingAt(ctx, "bw", minute)
	if diff := cmp.Diff(Tracking{}, tracked); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if next, _, err := db.ForecastSkill(ctx, "bw", Span{0, 9 * minute}); err != nil || next != (schema.ForecastSkill{}) {
		t.Errorf("skill %+v, %v", next, err)
	}
	if moves, err := db.RegionMoves(ctx, "bw", stall, Span{0, 9 * minute}); err != nil || moves != (RegionMoves{}) {
		t.Errorf("moves %v, %v", moves, err)
	}
}
