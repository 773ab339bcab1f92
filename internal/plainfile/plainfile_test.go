package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/internal/bounded"
)

// A named pipe without a writer is refused immediately; a pipe that is already open is read.
func TestOpen(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe); err == nil || !strings.Contains(err.Error(), pipe+": it is a named pipe") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
	for _, path := range []string{"plainfile_test.go", "/dev/null"} {
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

// A file is read whole or not at all; what has no end is refused like what is too large.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := read(Open, path, 5); string(text) != "12345" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := read(Open, path, 4); text != nil || !errors.As(err, new(*bounded.TooLargeError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("too large: %q, %v", text, err)
	}
	if _, err := Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: it is a device: use a regular file") {
		t.Errorf("a device: %v", err)
	}
	if _, err := read(os.Open, "/dev/zero", 4); !errors.As(err, new(*bounded.TooLargeError)) {
		t.Errorf("a device that is read once: %v", err)
	}
	folder := filepath.Dir(path)
	if _, err := ReadOnce(folder); err == nil || err.Error() != "read "+folder+": is a directory" {
		t.Errorf("a folder: %v", err)
	}
	if text, err := Read(os.DevNull); len(text) != 0 || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// An input is any file but a folder. Errors of reading it do not name it: its parser does.
func TestOpenInput(t *testing.T) {
	folder := t.TempDir()
	if _, err := OpenInput(folder); err == nil || err.Error() != "open "+folder+": is a directory" {
		t.Errorf("a folder: %v", err)
	}
	in, err := OpenInput(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), os.DevNull) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
}

func TestNamingNamesAFileOnce(t *testing.T) {
	_, absent := os.Open("absent")
	for want, err := range map[string]error{"open absent: no such file or directory": absent, "absent: damaged": errors.New("damaged")} {
		if got := Naming("absent", err); got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%v gives %v", err, got)
		}
	}
	if err := Naming("absent", nil); err != nil {
		t.Error(err)
	}
}
