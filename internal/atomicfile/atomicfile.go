// Package atomicfile replaces files atomically and durably: after a crash or power
// failure a file has its old or its new content, complete.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Permissions of new files: of a process's own state, and of a user's output, which is
// subject to the umask.
const (
	own    fs.FileMode = 0o600
	output fs.FileMode = 0o666
)

// Write creates or replaces the file at path, readable only by its owner. When it
// returns nil, content and name have been synced to disk.
func Write(path string, content []byte) error { return replace(path, content, own, false) }

// WriteOutput is Write for output files that a user names. As with shell redirection, a
// new file gets permissions by the umask, a replaced one keeps its own, and other files,
// such as /dev/stdout, are written to in place.
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

// WriteOutputBy is WriteOutput of what a function writes, if it does not fail.
func WriteOutputBy(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteOutput(path, content.Bytes())
}

// replace writes a temporary file next to the old one, with permissions, subject to the
// umask if masked, and renames it.
func replace(path string, content []byte, permissions fs.FileMode, masked bool) error {
	f, err := createBeside(path, permissions)
	if err != nil {
		return about(path, err)
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
		return about(path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// about returns an error of a temporary file as one of the file that it was to replace: its name is the same at every try, so
// that a log that drops repetitions recognises them.
func about(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	return err
}

// SyncDir makes the names of new files in a folder durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// createBeside is os.CreateTemp with permissions.
func createBeside(path string, permissions fs.FileMode) (*os.File, error) {
	const tries = 100 // of 2^64 names; beyond that it is not a name collision
	for try := 1; ; try++ {
		name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, permissions)
		if err == nil || try == tries || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
