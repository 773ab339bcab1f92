package reload_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/internal/reload"
)

// A named pipe without a writer is refused immediately; a pipe that is already open is read.
func TestOpen(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reload.Open(pipe); err == nil || !strings.Contains(err.Error(), pipe+": it is a named pipe") {
		t.Errorf("%v", err)
	}
	if _, err := reload.Open(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
	for _, path := range []string{"open_test.go", "/dev/null"} {
		file, err := reload.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if _, err := reload.Open(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

// A file that was replaced by a named pipe is a fault, not a wait without end.
func TestAPipeIsNotLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	loads := 0
	files := reload.Files{Paths: []string{path}, Load: func() error { loads++; return nil }}
	if _, err := files.Read(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read(); err == nil || !strings.Contains(err.Error(), "named pipe") || loads != 1 {
		t.Errorf("%v after %d loads", err, loads)
	}
}
