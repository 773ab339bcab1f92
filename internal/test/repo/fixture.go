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

// recorded stands in the name of every test that reads recorded fixtures: scripts/gotest.sh counts by it
// those that did not run.
const recorded = "Recorded"

// errNoFixtures: the folder of the recorded fixtures is not beside the checkout.
var errNoFixtures = errors.New("no fixtures folder beside the checkout")

// Fixture is the path of a recorded fixture, such as Fixture(t, "topology", "dragonfly.txt"). The fixtures were
// recorded by others and lie in ../shared/fixtures of the root, outside the repository: where the folder is not
// there the test is skipped, except in CI (CI is set), where that is a failure as is a file that is missing.
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

// find locates a file in the folder of the fixtures.
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
