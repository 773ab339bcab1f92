// Package reload loads files again when they have changed: by polling, at most once a second, whenever their content is needed. It
// compares sizes and modification times, and starts nothing of its own.
package reload

import (
	"os"
	"slices"
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

// Files are files that are loaded together. Not safe for concurrent use.
type Files struct {
	Paths []string     // of files; empty ones are passed over
	Load  func() error // loads all, by plainfile.Read; on error, what was loaded before stays in use

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
	if err := f.Load(); err != nil {
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

// Refresh is Read, at most once a second.
func (f *Files) Refresh(now time.Time) (changed bool, err error) {
	if now.Sub(f.checked) < recheck {
		return false, nil
	}
	f.checked = now
	return f.Read()
}
