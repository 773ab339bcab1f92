package dirlock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/dirlock"
)

func TestOneHolderAtATime(t *testing.T) {
	dir := t.TempDir()
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dirlock.Acquire(dir, 0)
	if want := fmt.Sprintf("directory %s is in use by process %d: stop", dir, os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second holder: %v, want %q", err, want)
	}
	release()
	again, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestWaitsForTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, release)
	second, err := dirlock.Acquire(dir, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	second()
}

func TestFolderMustExist(t *testing.T) {
	if _, err := dirlock.Acquire(filepath.Join(t.TempDir(), "none"), 0); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a folder that is not there: %v", err)
	}
}
