package feeds_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/collectors/feeds"
)

// A named pipe without a writer is refused immediately; a pipe that is already open is read.
func TestOpen(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := feeds.Open(pipe); err == nil || !strings.Contains(err.Error(), pipe+": it is a named pipe") {
		t.Errorf("%v", err)
	}
	if _, err := feeds.Open(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
	for _, path := range []string{"open_test.go", "/dev/null"} {
		file, err := feeds.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if _, err := feeds.Open(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
