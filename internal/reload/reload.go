// Package reload loads files again when they have changed: by polling, at most once a second, whenever their content is needed. It
// compares sizes and modification times, and starts nothing of its own. It also opens files that other programs write, and
// refuses those on which a reader would wait without end.
package reload

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// recheck is the minimum interval between checks of the files.
const recheck = time.Second

// Stamp identifies a version of a file; the zero Stamp is that of a file that cannot be found.
type Stamp struct {
	modified time.Time
	size     int64
}

// StampOf returns the stamp of a file.
func StampOf(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	return Stamp{info.ModTime(), info.Size()}, nil
}

// Check refuses directories, and named pipes: opening one without a writer blocks, ignoring the stop signal, and data read from
// it cannot be read again. Pipes made by a shell, /dev/fd/63, are already open. What does not exist is for Open to report.
func Check(path string) error {
	made := path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		return &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case info.Mode()&os.ModeNamedPipe != 0 && !made:
		return fmt.Errorf("open %s: it is a named pipe: use a regular file that the program writes to", path)
	}
	return nil
}

// Open opens a file that passes Check.
func Open(path string) (*os.File, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Files are files that are loaded together. Not safe for concurrent use.
type Files struct {
	Paths []string     // of files; empty ones are passed over
	Load  func() error // loads all; on error, what was loaded before stays in use

	loaded  []Stamp // nil after an error
	checked time.Time
	fault   string // the last error that was returned
}

// Read loads the files if they have changed. An error is returned once, until it changes.
func (f *Files) Read() (changed bool, err error) {
	var stamps []Stamp
	for _, path := range f.Paths {
		stamp, _ := StampOf(path) // Load says what is wrong with a missing file
		stamps = append(stamps, stamp)
	}
	if slices.Equal(stamps, f.loaded) {
		return false, nil
	}
	if err := f.load(); err != nil {
		f.loaded = nil
		if err.Error() == f.fault {
			return false, nil
		}
		f.fault = err.Error()
		return false, err
	}
	f.loaded, f.fault = stamps, ""
	return true, nil
}

func (f *Files) load() error {
	for _, path := range f.Paths {
		if err := Check(path); err != nil {
			return err
		}
	}
	return f.Load()
}

// Refresh is Read, at most once a second.
func (f *Files) Refresh(now time.Time) (changed bool, err error) {
	if now.Sub(f.checked) < recheck {
		return false, nil
	}
	f.checked = now
	return f.Read()
}
