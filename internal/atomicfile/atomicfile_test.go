package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/giverny/giverny/internal/atomicfile"
)

// A file has the mode that a plain one would have, and its new content; nothing else is left beside it, nor where it
// cannot be written.
func TestWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []struct {
		content       string
		mode, visible fs.FileMode
	}{{"first", atomicfile.Private, 0o600}, {"second", atomicfile.Public, 0o640}} {
		if err := atomicfile.Write(path, []byte(want.content), want.mode); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || string(content) != want.content {
			t.Errorf("%q %v", content, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != want.visible {
			t.Errorf("%v %v, want %v", info.Mode(), err, want.visible)
		}
	}
	if err := atomicfile.Write(filepath.Dir(path), nil, atomicfile.Public); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
