package repo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDirHoldsGoMod(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Dir(t), "internal", "test", "repo", "repo.go")); err != nil {
		t.Fatal(err)
	}
}

func TestRootFailsOutsideACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	if dir, err := root(); err == nil {
		t.Fatalf("found %s from a folder outside any checkout", dir)
	}
}

func TestRecordedFixture(t *testing.T) {
	if _, err := os.Stat(Fixture(t, "SOURCES.md")); err != nil {
		t.Fatal(err)
	}
}

// Without the folder a test is skipped; a missing file in it is a failure.
func TestFind(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := find(folder, "there"); err != nil || path != filepath.Join(folder, "there") {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := find(folder, "missing"); err == nil || errors.Is(err, errNoFixtures) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := find(filepath.Join(folder, "absent"), "there"); !errors.Is(err, errNoFixtures) {
		t.Errorf("a missing folder: %v", err)
	}
}
