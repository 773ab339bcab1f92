//go:build integration

package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestADiskIsFullAndHasSpaceAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	d, err := NewDisk(dir, 8<<20)
	if err != nil {
		t.Fatalf("%v; this needs the right to mount: run it as root", err)
	}
	defer d.Close()
	write := func(name string) error { return os.WriteFile(filepath.Join(dir, name), make([]byte, 1<<20), 0o600) }
	if err := write("before"); err != nil {
		t.Fatal(err)
	}
	full := Full{"the test", d}
	if err := full.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := write("while"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk takes a file: %v", err)
	}
	if err := full.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := write("after"); err != nil {
		t.Error(err)
	}
}
