package store

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func ownMigrations(t *testing.T) []Migration {
	t.Helper()
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// A released migration is never edited: databases have applied it. Release a
// new one by adding its line to testdata/released.txt.
func TestReleasedMigrationsAreUntouched(t *testing.T) {
	var lines []string
	for _, s := range ownMigrations(t) {
		lines = append(lines, s.checksum+"  "+s.Name)
	}
	released, err := os.ReadFile("testdata/released.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(string(released)), strings.Fields(strings.Join(lines, "\n"))); diff != "" {
		t.Errorf("migrations differ from testdata/released.txt: %s", diff)
	}
}

func TestSplitStatements(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"-- only;\n":                  nil,
		"A;\nB":                       {"A", "B"},
		"-- c;\nA\n  -- c\n  b; \nC;": {"A\n  b", "C"},
		"SELECT ';' AS x\n;\n":        {"SELECT ';' AS x"},
	} {
		if diff := cmp.Diff(want, splitStatements(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	for _, name := range []string{"sql/0002_a.sql", "sql/0x_a.sql"} {
		if _, err := loadMigrations(fstest.MapFS{name: {}}); err == nil {
			t.Errorf("%s as the first migration is no error", name)
		}
	}
}
