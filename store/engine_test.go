//go:build engine || integration

package store

import (
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// shared is the engine of the tests that do nothing to an engine itself.
var shared *engine.Engine

func TestMain(m *testing.M) { enginetest.MainShared(m, func(e *engine.Engine) { shared = e }) }

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
