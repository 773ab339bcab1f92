//go:build engine || integration

package store

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// freshDatabase is an empty database of the engine's.
func freshDatabase(t *testing.T, e *engine.Engine, name string, cfg Config) testDB {
	return openDB(t, e.Options(name), cfg)
}

// A step that was cut off runs again from its start: every statement bears that.
func TestMigrateFinishesWhatWasCutOff(t *testing.T) {
	db := openDB(t, enginetest.Start(t).Options(""), DefaultConfig())
	if err := db.createDatabase(t.Context()); err != nil {
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

func TestMigrateRefusesEditedAndNewerSchemas(t *testing.T) {
	db := migratedDB(t)
	steps := ownMigrations(t)
	steps[1].checksum = "edited"
	if err := db.applySteps(t.Context(), steps); err == nil || !strings.Contains(err.Error(), "0002_samples: its file is not the one that was applied") {
		t.Errorf("edited: %v", err)
	}
	steps = ownMigrations(t)
	if err := db.applySteps(t.Context(), steps[:len(steps)-1]); err == nil || !strings.Contains(err.Error(), "newer than this giverny") {
		t.Errorf("newer: %v", err)
	}
}
