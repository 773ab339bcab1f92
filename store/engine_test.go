//go:build engine || integration

package store

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// shared is the engine of tests that do not restart or kill it.
var shared *engine.Engine

func TestMain(m *testing.M) { enginetest.MainShared(m, func(e *engine.Engine) { shared = e }) }

var databases enginetest.Databases

// migratedDB returns a database for exclusive use by the test, in the shared engine; the test must not
// change its schema.
func migratedDB(tb testing.TB) testDB {
	tb.Helper()
	name := databases.Lend(tb, shared, func(name string) {
		if err := openDB(tb, shared.Options(name), DefaultConfig()).Migrate(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	})
	return openDB(tb, shared.Options(name), DefaultConfig())
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

// row returns the only row of a query with text columns.
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

// However many queries run, a connection is left for writes.
func TestQuestionsLeaveRoomForWrites(t *testing.T) {
	db := migratedDB(t)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			for ctx.Err() == nil {
				var rows []struct {
					N uint8 `ch:"n"`
				}
				if err := db.Select(ctx, Question{Name: "slow", SQL: "SELECT sleep(1) AS n"}, &rows); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(time.Second)
	const patience = 10 * time.Second // for a machine under load; 50 queries take longer
	writing, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for range 5 {
		if err := db.conn.Exec(writing, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	asking.Wait()
}

// The error for an account that may not choose settings, which every query has, names the remedy.
func TestAnAccountThatMayNotChooseSettings(t *testing.T) {
	db := migratedDB(t)
	var found []struct{}
	err := db.Select(t.Context(), Question{Name: "settings", SQL: "SELECT 1 SETTINGS readonly = 1, max_threads = 1"}, &found)
	if err == nil || !strings.Contains(err.Error(), "READONLY") || !strings.Contains(err.Error(), "readonly = 2 instead of 1") {
		t.Errorf("%v", err)
	}
}
