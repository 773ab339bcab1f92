package failures

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/giverny/giverny/internal/plainfile"
)

// position is how far a file was read; it is always at the end of a line.
type position struct {
	Device uint64 `json:"device"` // identifies the file independent of its name
	Inode  uint64 `json:"inode"`
	// Head is the hash of its first bytes, because inode numbers are reused.
	Head      uint64 `json:"head"`
	HeadBytes int    `json:"head_bytes"`
	Offset    int64  `json:"offset"`
}

// maxLineBytes bounds a line; a longer one is dropped and counted.
const maxLineBytes = 64 << 10

// headBytes is how much of a file is hashed to identify it.
const headBytes = 256

// follower reads lines appended to a file, as tail -F does: whole lines only, across rotation by name and
// truncation. It resumes at a saved position, even if that file was rotated meanwhile. A rotated file is closed at
// the read after the one that detects the rotation.
type follower struct {
	path      string
	fromStart bool // for a file that it has never read
	file      *os.File
	at        position
	begun     bool   // at is where to resume
	part      []byte // an incomplete last line, starting at at.Offset
	skipping  bool   // skip the rest of line too long
	leaving   bool   // the last read found that the file was rotated
	lost      int    // files that were rotated away before they were read completely
}

// readBytes bounds the bytes read per call.
const readBytes = 8 << 20

// sink accepts lines until it is full.
type sink struct {
	line    func(text string)
	tooLong func()
	full    func() bool
}

// read passes new whole lines to the sink. more means that there are more.
func (f *follower) read(to sink) (more bool, err error) {
	if f.file == nil {
		if err := f.open(); err != nil {
			return false, err
		}
	}
	if err := f.checkHead(); err != nil {
		return false, err
	}
	for budget := readBytes; ; {
		n, end, err := f.take(to)
		if err != nil {
			return false, err
		}
		if budget -= n; budget <= 0 || to.full() {
			return true, nil
		}
		if !end {
			continue
		}
		rotated, err := f.rotated()
		if err != nil || !rotated {
			return false, err
		}
		if !f.leaving { // the writer keeps writing to the old file until it is signalled
			f.leaving = true
			return false, nil
		}
		// The old file has ended: its last line will not be completed.
		if len(f.part) > 0 && !f.skipping {
			to.line(string(f.part))
		}
		skipped, err := f.skipped()
		if err != nil {
			return false, err
		}
		f.lost += skipped
		f.close()
		if err := f.openNew(0); err != nil {
			return false, err
		}
	}
}

// skipped counts the files that had the name between the open one and the current one: rotated files by logrotate's naming
// (log.1, log-20260105) that were modified after the open one.
func (f *follower) skipped() (n int, err error) {
	old, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	rotated, err := filepath.Glob(escaped(f.path) + `[.\-][0-9]*`)
	for _, path := range rotated {
		if info, err := os.Stat(path); err == nil && !os.SameFile(info, old) && info.ModTime().After(old.ModTime()) {
			n++
		}
	}
	return n, err
}

// take reads a chunk and passes its whole lines on. Lines that the sink has no room for are read again later.
func (f *follower) take(to sink) (n int, end bool, err error) {
	buf := make([]byte, 64<<10)
	n, err = f.file.ReadAt(buf, f.at.Offset+int64(len(f.part)))
	if err != nil && err != io.EOF {
		return n, false, fmt.Errorf("read: %w", plainfile.Naming(f.path, err))
	}
	end = err == io.EOF
	f.part = append(f.part, buf[:n]...)
	for !to.full() {
		i := bytes.IndexByte(f.part, '\n')
		if i < 0 {
			break
		}
		if f.skipping {
			f.skipping = false
		} else {
			to.line(string(f.part[:i]))
		}
		f.at.Offset += int64(i + 1)
		f.part = f.part[i+1:]
	}
	if to.full() {
		f.part = nil
		return n, false, nil
	}
	if len(f.part) > maxLineBytes {
		if !f.skipping {
			to.tooLong()
		}
		f.skipping = true
		f.at.Offset += int64(len(f.part))
		f.part = nil
	}
	f.part = slices.Clone(f.part)
	return n, end, nil
}

// checkHead detects a file that was truncated and rewritten (copytruncate), by its first bytes; it is read from the
// start.
func (f *follower) checkHead() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	hash, n, err := head(f.file, f.at.HeadBytes)
	if err != nil {
		return err
	}
	switch {
	case info.Size() >= f.at.Offset && n == f.at.HeadBytes && hash == f.at.Head:
		if n == headBytes {
			return nil
		}
	case f.takeCopy():
		return nil
	default:
		f.at.Offset, f.part, f.skipping = 0, nil, false
	}
	return f.identify()
}

// takeCopy continues in the copy that was made before the file was truncated, if it goes on after the position. It is left like
// a file that was renamed.
func (f *follower) takeCopy() bool {
	if f.at.HeadBytes < headBytes {
		return false // too little to tell files apart
	}
	candidates, _ := filepath.Glob(escaped(f.path) + "*")
	for _, path := range candidates {
		info, err := os.Stat(path)
		if err != nil || info.Size() <= f.at.Offset+int64(len(f.part)) {
			continue
		}
		if file := f.withHead(path, info); file != nil {
			f.file.Close()
			f.file = file
			f.at.Device, f.at.Inode = identity(info)
			return true
		}
	}
	return false
}

// rotated reports whether the name refers to another file now.
func (f *follower) rotated() (bool, error) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // between the rename and the creation of the new file
	}
	if err != nil {
		return false, err
	}
	device, inode := identity(info)
	return device != f.at.Device || inode != f.at.Inode, nil
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close() // opened read-only
		f.file = nil
	}
	f.part, f.skipping, f.leaving = nil, false, false
}

// open resumes at the position, or starts a new file.
func (f *follower) open() error {
	if !f.begun {
		if f.fromStart {
			return f.openNew(0)
		}
		return f.openNew(-1)
	}
	candidates, err := filepath.Glob(escaped(f.path) + "*")
	if err != nil {
		return err
	}
	slices.Sort(candidates) // the current name sorts first
	for _, path := range candidates {
		if file := f.fits(path); file != nil {
			f.file = file
			return nil
		}
	}
	if _, err := os.Stat(f.path); err != nil {
		return err
	}
	f.lost++
	f.begun = false
	return f.openNew(0)
}

// escaped returns a glob pattern that matches only the name.
func escaped(name string) string {
	var b bytes.Buffer
	for _, r := range name {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fits opens a file if it is the one of the saved position.
func (f *follower) fits(path string) *os.File {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if device, inode := identity(info); device != f.at.Device || inode != f.at.Inode || info.Size() < f.at.Offset {
		return nil
	}
	return f.withHead(path, info)
}

// withHead opens a regular file if it begins like that of the position.
func (f *follower) withHead(path string, info fs.FileInfo) *os.File {
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	if hash, n, err := head(file, f.at.HeadBytes); err != nil || n < f.at.HeadBytes || hash != f.at.Head {
		file.Close()
		return nil
	}
	return file
}

// openNew opens the file that has the name now, at an offset or, if negative, at its end.
func (f *follower) openNew(offset int64) error {
	file, err := plainfile.Open(f.path)
	if err != nil {
		f.fromStart = f.fromStart || errors.Is(err, fs.ErrNotExist) // once created, all of it is new
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.at, f.begun = file, position{Offset: offset}, true
	f.at.Device, f.at.Inode = identity(info)
	if offset < 0 {
		f.at.Offset = info.Size()
	}
	return f.identify()
}

// identify hashes the first bytes of the file.
func (f *follower) identify() (err error) {
	f.at.Head, f.at.HeadBytes, err = head(f.file, headBytes)
	return err
}

// head hashes the first n bytes, or all of a shorter file.
func head(file *os.File, n int) (hash uint64, got int, err error) {
	buf := make([]byte, n)
	got, err = file.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	h := fnv.New64a()
	h.Write(buf[:got])
	return h.Sum64(), got, nil
}

func identity(info fs.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}
