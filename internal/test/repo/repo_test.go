package repo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDirHoldsGoMod(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Dir(t), "internal", "test", "repo", "repo.go")); err != nil {
		t.Fatal(err)
	}
}

func TestFindFailsOutsideACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	if dir, err := find(); err == nil {
		t.Fatalf("found %s from a folder outside any checkout", dir)
	}
}

func TestFixture(t *testing.T) {
	if _, err := os.Stat(Fixture(t, "SOURCES.md")); err != nil {
		t.Fatal(err)
	}
}
