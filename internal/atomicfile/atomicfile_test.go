package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/giverny/giverny/internal/atomicfile"
)

func TestPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared")
	if err := os.WriteFile(shared, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o664); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		write func(string, []byte) error
		want  fs.FileMode
	}{{"state", atomicfile.Write, 0o600}, {"report", atomicfile.WriteOutput, 0o640}, {"shared", atomicfile.WriteOutput, 0o664}} {
		path := filepath.Join(dir, c.name)
		if err := c.write(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "new" || info.Mode() != c.want {
			t.Errorf("%s: %q, mode %v, %v; want mode %v", c.name, text, info.Mode(), err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// A file stays as it was if what was to replace it cannot be written in full.
func TestAFailedOutputLeavesTheFile(t *testing.T) {
	dir := t.TempDir()
	path, failed := filepath.Join(dir, "report"), errors.New("failed")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.WriteOutputBy(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "half of")
		return errors.Join(err, failed)
	})
	if text, readErr := os.ReadFile(path); !errors.Is(err, failed) || readErr != nil || string(text) != "old" {
		t.Errorf("%q, %v, %v", text, readErr, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// Output to a device or pipe is written in place: root's `--out /dev/null` must not replace it by a file.
func TestOutputToAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if err := atomicfile.WriteOutput(pipe, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "new" {
		t.Errorf("the reader of the pipe got %q", text)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", info, err)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, write := range []func(string, []byte) error{atomicfile.Write, atomicfile.WriteOutput} {
		if err := write(filepath.Join(dir, "folder"), nil); err == nil {
			t.Error("a folder was replaced")
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// An error names the file, not the temporary one, and is the same at every try.
func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "state")
	for range 2 {
		if err := atomicfile.Write(path, nil); err == nil || err.Error() != "open "+path+": no such file or directory" {
			t.Error(err)
		}
	}
}
