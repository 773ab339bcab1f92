//go:build engine || integration

package store

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// Two processes start in turn, one with a longer and one with a shorter retention:
// the tables settle on the longer one. It is shortened only on request.
func TestRetentionDoesNotFlip(t *testing.T) {
	e := enginetest.Start(t)
	want := map[string]time.Duration{"link_samples": 9 * day, "raw_counters": day, "port_readings": day, "regions": 0, "network_states": 0, "events": 0, "jobs": 0, "failures": 0, "job_traffic": 0, "diagnoses": 0, "mitigations": 0, "commands": 0, "command_results": 0, "feedback_audit": 0, "host_hardware": 0, "hostping_runs": 0, "collective_runs": 0, "analysis_states": 7 * day,
		"link_minutes": 0, "link_hours": 0, "link_days": 0, "region_hours": 0, "hour_counts": 0, "rollups": 0}
	open := func(r Retention) testDB {
		cfg := DefaultConfig()
		cfg.Retention = r
		return openDB(t, e.Options(""), cfg)
	}
	short, long := open(Retention{Samples: time.Hour, Raw: time.Hour, Regions: time.Hour}), open(Retention{Samples: 9 * day, Raw: day})
	for i, db := range []testDB{short, long, short, long, short} {
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // an empty table takes any retention
			if got := tableTTLs(t, db); got["regions"] != time.Hour || got["link_samples"] != time.Hour {
				t.Fatalf("fresh tables keep %v", got)
			}
			if err := db.Store(t.Context(), someResult("bw", 1, 1000)); err != nil {
				t.Fatal(err)
			}
			if err := long.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := db.conn.Exec(t.Context(), "INSERT INTO raw_counters (fabric, stored_at) VALUES ('bw', now())"); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreCommands(t.Context(), "bw", []schema.SeenCommand{{Command: schema.Command{ID: "a"}}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreCommandResults(t.Context(), "bw", []schema.CommandResult{{CommandID: "a"}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreFeedback(t.Context(), "bw", []schema.FeedbackAction{{Target: "n1"}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreHardware(t.Context(), "bw", []schema.HardwareReport{{Agent: "a", Hardware: schema.HostHardware{Adapters: []schema.Adapter{{Name: "mlx5_0"}}}}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreHostRuns(t.Context(), "bw", []order.Step{{RunID: "a", Agent: "a"}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreCollectives(t.Context(), "bw", []report.Published{{RunID: "a", Agent: "a"}}); err != nil {
				t.Fatal(err)
			}
			if err := db.StoreStates(t.Context(), "bw", 1, someResult("bw", 1, 1).Snapshot.Interval, 0, stages("", "")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, tableTTLs(t, db)); diff != "" {
			t.Errorf("after start %d: %s", i+1, diff)
		}
	}
	if err := short.ApplyRetention(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tableTTLs(t, short); got["link_samples"] != time.Hour || got["regions"] != time.Hour {
		t.Errorf("on demand: %v", got)
	}
	// Replayed old data has just been stored, so it is kept.
	if err := short.conn.Exec(t.Context(), "OPTIMIZE TABLE link_samples FINAL"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, short, "bw")); diff != "" {
		t.Error(diff)
	}
	if text := (ttl{"time + toIntervalDay(1)", 0}).String(); !strings.Contains(text, "toIntervalDay(1)") {
		t.Errorf("an operator's own TTL is logged as %q", text)
	}
}

// Rows are deleted according to the retention in force, not to that with which they were stored, be it shorter or longer.
func TestAChangedRetentionHoldsForWhatIsStored(t *testing.T) {
	e := enginetest.Start(t)
	under := func(keep time.Duration) testDB {
		t.Helper()
		cfg := DefaultConfig()
		cfg.Retention = Retention{Samples: keep, Regions: keep}
		db := openDB(t, e.Options(""), cfg)
		if err := errors.Join(db.Migrate(t.Context()), db.ApplyRetention(t.Context())); err != nil {
			t.Fatal(err)
		}
		return db
	}
	if err := under(9*day).Store(t.Context(), someResult("bw", 1, 1000)); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []time.Duration{2 * time.Hour, 100 * day} {
		db := under(keep)
		for _, table := range []string{"link_samples", "regions"} {
			var least, most, stored time.Time
			for range 300 {
				err := db.conn.QueryRow(t.Context(), "SELECT min(delete_ttl_info_min), max(delete_ttl_info_max), (SELECT max(stored_at) FROM "+table+") FROM system.parts WHERE database = 'giverny' AND table = {table:String} AND active",
					clickhouse.Named("table", table)).Scan(&least, &most, &stored)
				if err != nil {
					t.Fatal(err)
				}
				if least.Equal(stored.Add(keep)) && most.Equal(least) {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if !least.Equal(stored.Add(keep)) || !most.Equal(least) {
				t.Errorf("%s: a row stored at %v is kept for %v, until %v to %v", table, stored, keep, least, most)
			}
		}
	}
}

// tableTTLs returns the retentions in force.
func tableTTLs(t *testing.T, db testDB) map[string]time.Duration {
	t.Helper()
	out := map[string]time.Duration{}
	for _, r := range db.cfg.Retention.retentions() {
		has, _, err := db.migrator().retentionOf(t.Context(), r.table)
		if err != nil {
			t.Fatal(err)
		}
		out[r.table] = has.keep
	}
	return out
}

// On a full disk no table is changed: ClickHouse would leave an empty definition of it, and not start again.
func TestNoTableIsChangedOnAFullDisk(t *testing.T) {
	e := enginetest.Start(t)
	db := openDB(t, e.Options(""), DefaultConfig())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := tableTTLs(t, db)
	m := db.migrator()
	m.retention, m.room = Retention{Samples: 1000 * day, Regions: day}, math.MaxUint64
	if err := m.setRetentions(t.Context(), true); !errors.Is(err, ErrNoRoom) || !MayPass(err) {
		t.Errorf("a shorter retention on a full disk: %v", err)
	}
	if err := m.widenRetention(t.Context()); err != nil {
		t.Errorf("a longer retention on a full disk stops the start: %v", err)
	}
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.applySteps(t.Context(), steps); err != nil {
		t.Errorf("a full disk stops a start without migrations: %v", err)
	}
	steps = append(steps, Migration{Version: len(steps) + 1, Name: "more", statements: []string{"ALTER TABLE regions ADD COLUMN more UInt8"}})
	if err := m.applySteps(t.Context(), steps); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a migration on a full disk: %v", err)
	}
	if diff := cmp.Diff(before, tableTTLs(t, db)); diff != "" {
		t.Error(diff)
	}
}
