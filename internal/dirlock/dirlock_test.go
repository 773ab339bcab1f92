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

// Holder identifies the holder of a folder without locking it.
func TestHolder(t *testing.T) {
	dir := t.TempDir()
	if pid, err := dirlock.Holder(filepath.Join(dir, "none"), 0); pid != "" || err != nil {
		t.Errorf("of no folder: %q, %v", pid, err)
	}
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := dirlock.Holder(dir, 0); pid != fmt.Sprint(os.Getpid()) || err != nil {
		t.Errorf("while it is in use: %q, %v", pid, err)
	}
	time.AfterFunc(100*time.Millisecond, release)
	if pid, err := dirlock.Holder(dir, 20*time.Second); pid != "" || err != nil {
		t.Errorf("after it was left: %q, %v", pid, err)
	}
	again, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatalf("asking has taken it: %v", err)
	}
	again()
}
