// Package atomicfile replaces a file's content at once: after a crash or a power cut
// the old content is there or the new one, whole. It knows nothing of the content.
package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Permissions of new files: of a process's own state, and of what a user asks for, from
// which the system takes the umask.
const (
	own    fs.FileMode = 0o600
	output fs.FileMode = 0o666
)

// Write replaces the file at path, or makes it, readable by its owner alone. When it
// returns nil the content and the name are on disk.
func Write(path string, content []byte) error { return replace(path, content, own, false) }

// WriteOutput is Write for the output that a user names: as with a shell's redirection a
// new file has the permissions that the umask leaves, one that is replaced keeps its own,
// and what is no file, such as /dev/stdout, is written to.
func WriteOutput(path string, content []byte) error {
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return os.WriteFile(path, content, output)
	case err == nil:
		return replace(path, content, old.Mode().Perm(), false)
	}
	return replace(path, content, output, true)
}

// replace makes a file beside the old one, with permissions, of which the umask is taken
// if masked, and gives it the name.
func replace(path string, content []byte, permissions fs.FileMode, masked bool) error {
	f, err := createBeside(path, permissions)
	if err != nil {
		return err
	}
	if !masked {
		err = f.Chmod(permissions)
	}
	_, writeErr := f.Write(content)
	if err = errors.Join(err, writeErr, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names of a folder's new files outlive the machine.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// createBeside is os.CreateTemp with permissions.
func createBeside(path string, permissions fs.FileMode) (*os.File, error) {
	const tries = 100 // of 2^64 names; more is another fault than a name that is taken
	for try := 1; ; try++ {
		name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, permissions)
		if err == nil || try == tries || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
