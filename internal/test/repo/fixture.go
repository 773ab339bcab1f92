package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is part of the name of every test that reads recorded fixtures, so that scripts/gotest.sh can
// count those that did not run.
const recorded = "Recorded"

// errNoFixtures means that there is no folder of recorded fixtures beside the checkout.
var errNoFixtures = errors.New("no fixtures folder beside the checkout")

// Fixture is the path of a recorded fixture, such as Fixture(t, "topology", "dragonfly.txt"). The fixtures were
// recorded by others and are in ../shared/fixtures, outside the repository: without that folder the test is
// skipped, except in CI (CI is set), where it fails. A missing file is always a failure.
func Fixture(tb testing.TB, elem ...string) string {
	tb.Helper()
	if !strings.Contains(tb.Name(), recorded) {
		tb.Fatalf("%s reads a recorded fixture: put %s into its name, and give the others samples of their own in testdata", tb.Name(), recorded)
	}
	path, err := find(filepath.Join(Dir(tb), "..", "shared", "fixtures"), filepath.Join(elem...))
	if errors.Is(err, errNoFixtures) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// find locates a file in the fixtures folder.
func find(folder, name string) (string, error) {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return "", errNoFixtures
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("recorded fixture %s: %w", name, err)
	}
	return path, nil
}
