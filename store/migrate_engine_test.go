//go:build engine || integration

package store

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// freshDatabase returns an empty database of the engine.
func freshDatabase(t *testing.T, e *engine.Engine, name string, cfg Config) testDB {
	return openDB(t, e.Options(name), cfg)
}

// An interrupted step runs again from its start: every statement is idempotent.
func TestMigrateFinishesWhatWasCutOff(t *testing.T) {
	db := openDB(t, enginetest.Start(t).Options(""), DefaultConfig())
	if err := db.migrator().createDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range ownMigrations(t) {
		for _, statement := range s.statements {
			if err := db.conn.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, err := db.MigrationStatus(t.Context())
	if err != nil || !before[0].AppliedAt.IsZero() {
		t.Errorf("nothing is noted yet, but: %+v, %v", before, err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	e := enginetest.Start(t)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		db := openDB(t, e.Options(""), DefaultConfig())
		wg.Go(func() { errs[i] = db.Migrate(t.Context()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// A response that breaks off during a migration is not taken for a fault of the tables.
func TestMigrateBearsAnswersThatBreakOff(t *testing.T) {
	for _, asked := range []string{"system.tables", "SELECT count() FROM", "ALTER TABLE"} {
		cut := 1
		opts := withFault(enginetest.Start(t).Options(""), func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			statement, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(statement))
			response, err := next.RoundTrip(r)
			if err == nil && cut > 0 && strings.Contains(string(statement), asked) {
				cut--
				response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, 5), iotest.ErrReader(io.ErrUnexpectedEOF)))
			}
			return response, err
		})
		db := openDB(t, opts, DefaultConfig())
		err := db.Migrate(t.Context())
		if cut > 0 {
			t.Fatalf("%s: no answer was cut", asked)
		}
		if err != nil && !MayPass(err) {
			t.Errorf("%s: %v counts as a fault of the tables", asked, err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Errorf("%s: the next try: %v", asked, err)
		}
	}
}

func TestMigrateRefusesEditedAndNewerSchemas(t *testing.T) {
	db := migratedDB(t)
	steps := ownMigrations(t)
	steps[1].checksum = "edited"
	if err := db.migrator().applySteps(t.Context(), steps); err == nil || !strings.Contains(err.Error(), "0002_samples: its file is not the one that was applied") || MayPass(err) {
		t.Errorf("edited: %v", err)
	}
	steps = ownMigrations(t)
	if err := db.migrator().applySteps(t.Context(), steps[:len(steps)-1]); err == nil || !strings.Contains(err.Error(), "newer than this giverny") || MayPass(err) {
		t.Errorf("newer: %v", err)
	}
}
